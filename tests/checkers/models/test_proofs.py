"""What no order explains is proved by operations that none explains, and none of them is to spare."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from checkers.history.operation import Operation
from checkers.history.records import Outcome
from checkers.models import objects
from checkers.models.explain.proofs import smallest
from checkers.models.model_verdict import ModelVerdict
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.model_histories import KINDS, random_history

OBJECTS: dict[str, objects.Model] = {
    "cas-register": objects.CasRegister(0),
    "counter": objects.Counter(),
    "fenced-mutex": objects.FencedMutex(),
    "mutex": objects.Mutex(),
    "owned-mutex": objects.OwnedMutex(),
    "reentrant-mutex": objects.ReentrantMutex(),
    "set": objects.Set(),
}


def judge(operations: Sequence[Operation], model: objects.Model) -> ModelVerdict:
    return search(operations, model)


def op(f: str, called: int, returned: int | None, **fields: Hashable) -> Operation:
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(f=f, called=called, returned=returned, outcome=outcome, **fields)


def proved(name: str, *operations: Operation) -> tuple[int, ...]:
    """The positions of the smallest proof that the search's dead end leads to."""
    model = OBJECTS[name]
    (end,) = search(operations, model).conflicts
    until = operations[end.operation].returned
    return smallest(name, operations, [end.operation], until, partial(judge, model=model)).positions


def test_earlier_unseen_operations_are_left_out_of_a_proof() -> None:
    assert proved(
        "cas-register",
        op("write", 0, 1, input=1),
        op("read", 2, 3, output=1),
        op("write", 4, 5, input=2),
        op("write", 6, 7, input=3),
        op("read", 8, 9, output=2),
    ) == (2, 3, 4)


def test_a_read_keeps_every_write_of_its_value() -> None:
    assert proved(
        "cas-register",
        op("write", 0, 1, input=1),
        op("write", 2, 3, input=1),
        op("write", 4, 5, input=2),
        op("read", 6, 7, output=1),
    ) == (0, 1, 2, 3)


def test_unrelated_holds_are_left_out_of_a_proof() -> None:
    assert proved(
        "owned-mutex",
        op("acquire", 0, 1, process=0),
        op("release", 2, 3, process=0),
        op("acquire", 4, 5, process=1),
        op("acquire", 6, 7, process=2),
    ) == (2, 3)
    assert proved(
        "mutex",
        op("acquire", 0, 1, process=0),
        op("release", 2, 3, process=0),
        op("acquire", 4, 5, process=1),
        op("acquire", 6, 7, process=2),
    ) == (2, 3)


def test_a_read_of_the_whole_object_keeps_every_change() -> None:
    assert proved(
        "counter",
        op("add", 0, 1, input=1),
        op("read", 2, 3, output=1),
        op("add", 4, 5, input=2),
        op("read", 6, 7, output=2),
    ) == (0, 2, 3)


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_a_proof_is_wrong_by_itself_and_nothing_can_be_left_out(name: Any) -> None:
    rng = random.Random(name)
    model = OBJECTS[name]
    wrong = 0
    for _ in range(300):
        history = random_history(rng, KINDS[name])
        found = search(history, model)
        for end in found.conflicts:
            wrong += 1
            until = history[end.operation].returned
            proof = smallest(name, history, [end.operation], until, partial(judge, model=model))

            assert proof.is_smallest, history
            assert search(proof.operations, model).validity is Validity.INVALID, (history, proof)
            assert [history[each].outcome for each in proof.positions if each not in proof.open] == [
                each.outcome for each in proof.operations if each.outcome is not Outcome.INFO
            ]
            for left_out in range(len(proof.operations)):
                is_read = proof.operations[left_out].f in {"read", "contains"}
                rest = [each for place, each in enumerate(proof.operations) if place != left_out]
                if is_read:
                    assert search(rest, model).validity is Validity.VALID, (history, proof, left_out)
    assert wrong > 15


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_leaving_out_parts_of_a_correct_history_keeps_it_correct(name: str) -> None:
    rng = random.Random(name)
    model = OBJECTS[name]
    tried: list[Sequence[Operation]] = []

    def never_satisfied(operations: Sequence[Operation]) -> ModelVerdict:
        tried.append(operations)
        is_wrong = len(tried) == 1 or rng.random() < 1 / 3  # the first is all of it
        return ModelVerdict(validity=Validity.INVALID if is_wrong else Validity.VALID, method="search")

    for _ in range(200):
        history = random_history(rng, KINDS[name])
        if search(history, model).validity is not Validity.VALID:
            continue
        tried.clear()
        named = rng.randrange(len(history))
        until = rng.choice([None, history[named].returned])
        smallest(name, history, [named], until, never_satisfied)

        for operations in tried:
            assert search(operations, model).validity is Validity.VALID, (history, operations)


def test_a_search_for_a_smaller_set_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.models.explain.proofs.WORK", 5)
    history = [op("write", 2 * n, 2 * n + 1, input=n) for n in range(10)]
    history.append(replace(op("read", 30, 31), output=3))

    proof = smallest("cas-register", history, [10], None, partial(judge, model=objects.CasRegister(0)))

    assert not proof.is_smallest
    assert search(proof.operations, objects.CasRegister(0)).validity is Validity.INVALID
