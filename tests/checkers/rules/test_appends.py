"""An append is a write of the list that it wrote, to every checker of a storage."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.appends import read_by, with_lists
from checkers.facts.evidence import gather
from checkers.history.records import Commit, Op, Outcome
from checkers.rules.registers import observed
from checkers.verdict.judge import judge
from tests.support.brute_force import history_of, random_register_history, read, renumbered, write
from tests.support.selection import Cases

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more


def of_lists(operations: Sequence[Op], *, known: bool = True) -> tuple[Op, ...]:
    """The same history with appends for writes; each writes a list of its own, of one element."""
    return tuple(_of_lists(op, known=known) for op in operations)


def _of_lists(op: Op, *, known: bool) -> Op:
    value = None if op.value is None else (op.value,)
    if op.f == "write":
        return replace(op, f="append", element=op.value, value=value if known or op.returned else None)
    return replace(op, value=value)


def without_lists(conflict: Conflict) -> tuple[object, ...]:
    because = tuple(op.index for op in conflict.because)
    cause = None if conflict.cause is None else without_lists(conflict.cause)
    return conflict.anomaly, conflict.breach, conflict.accused.index, because, cause


def found(operations: Sequence[Op], *, strict: bool, fenced: bool) -> list[tuple[object, ...]]:
    return [
        without_lists(each) for each in observed(gather(history_of(operations, strict=strict, fenced=fenced)))
    ]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_the_same_conflicts_are_found_as_of_writes(
    strict: bool, fenced: bool, known: bool, cases: Cases
) -> None:
    rng = random.Random(f"{strict} {fenced}")
    wrong = 0
    for _ in range(cases(300 * ROUNDS)):
        operations = random_register_history(rng)
        expected = found(operations, strict=strict, fenced=fenced)

        assert found(of_lists(operations, known=known), strict=strict, fenced=fenced) == expected
        wrong += bool(expected)
    assert wrong > cases(300) / 6


def test_the_storages_own_order_decides_the_same() -> None:
    stale = renumbered([write(0, 2, 0, 1), write(1, 1, 2, 3), read(2, ("v1", 1), 4, 5)])
    lists = of_lists(stale)
    commits = [Commit(seq=op.index, resource="r0", token=op.token, value=op.value) for op in lists[:2]]

    verdict = judge(history_of(lists), commits)

    assert {finding.anomaly for finding in verdict.findings} == {"stale-write"}
    assert verdict.coverage["stale_writes_accepted"] == 1


def test_an_unanswered_append_may_have_written_any_list_that_ends_so() -> None:
    unknown = replace(write(0, 1, 0, 1, "info"), f="append", element="a", value=None)
    seen = replace(read(1, ("", 1), 2, 3), value=("z", "a"))
    history = history_of(renumbered([unknown, seen]))

    assert with_lists(history).operations[0].value == ("z", "a")
    assert not judge(history).findings


def test_of_several_possible_lists_the_storages_own_is_believed() -> None:
    unknown = replace(write(0, 1, 0, 1, "info"), f="append", element="a", value=None)
    seen = replace(read(1, ("", 1), 2, 3), value=("z", "a"))
    history = history_of(renumbered([unknown, seen]))
    commit = Commit(seq=1, resource="r0", token=1, value=("a",))

    assert with_lists(history, [commit]).operations[0].value == ("a",)
    assert {each.anomaly for each in judge(history, [commit]).findings} == {"non-linearizable"}


def test_a_list_of_another_resource_shows_nothing() -> None:
    unknown = replace(write(0, 1, 0, 1, "info"), f="append", element="a", value=None)
    elsewhere = replace(read(1, ("", 1), 2, 3), value=("z", "a"), resource="r1")

    assert with_lists(history_of(renumbered([unknown, elsewhere]))).operations[0].value == ("a",)


def test_an_unseen_list_does_not_count_as_read() -> None:
    unknown = replace(write(0, 1, 0, 1, "info"), f="append", element="a", value=None)
    nothing = replace(read(1, (None, 0), 2, 3))

    assert not judge(history_of(renumbered([unknown, nothing]))).findings


@pytest.mark.parametrize(
    "more", [[], [replace(write(1, 1, 2, 3, "info"), f="append", element="a", value=None)]]
)
def test_a_read_of_the_initial_list_is_right_whatever_is_appended(more: list[Op]) -> None:
    plain = history_of([replace(read(0, ("", 0), 0, 1), value=("x",)), *more])
    history = replace(plain, header=replace(plain.header, initial_value=("x",)))

    assert not observed(gather(history))


@pytest.mark.parametrize(
    ("op", "shown"),
    [
        (read(0, ("", 1), 0, 1), True),
        (replace(read(0, ("", 1), 0, 1), outcome=Outcome.INFO), False),
        (write(0, 1, 0, 1), False),
    ],
)
def test_only_an_answered_read_shows_a_list(op: Op, shown: bool) -> None:
    assert read_by(replace(op, value=("a",))) == (("a",) if shown else None)
