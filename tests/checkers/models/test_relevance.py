"""What the search leaves out because of what a model promises: parts, what is in reach, holders, coarse values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pytest

from checkers.history.operation import NO_VALUE, Operation
from checkers.models.budget import MIB, Budget
from checkers.models.objects import (
    IMPOSSIBLE,
    MODELS,
    UNSEEN,
    CasRegister,
    Counter,
    FencedMutex,
    Model,
    OwnedMutex,
    ReentrantFencedMutex,
    ReentrantMutex,
    Set,
)
from checkers.models.objects.sums import Sums
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.differential import disagreements, random_histories
from tests.support.linearizations import every_history, explained, failed, is_right, mismatches, op, step_of

_END = 12


def counter_history(rng: random.Random) -> tuple[Operation, ...]:
    """Sums of unequal numbers; the reads are near the truth."""
    changes = [
        op("add", *_interval(rng), rng.choice([1, 2, 3, 3, 4, 5, -2])) for _ in range(rng.randint(3, 6))
    ]
    total = 0
    reads = []
    for _ in range(rng.randint(1, 3)):
        total = rng.randint(0, 10) if rng.random() < 0.3 else total + rng.choice([0, 1, 2, 3, 3, 4, 5])
        reads.append(op("read", *_short(rng), answer=total))
    return (*changes, *reads)


def set_history(rng: random.Random) -> tuple[Operation, ...]:
    """Adds and removes, some with an answer; reads of all elements or of one."""
    changes = [_change(rng) for _ in range(rng.randint(3, 6))]
    return (*changes, *(_question(rng) for _ in range(rng.randint(1, 3))))


def _change(rng: random.Random) -> Operation:
    called, returned = _interval(rng)
    answer: Hashable = NO_VALUE if returned is None else rng.choice([NO_VALUE] * 5 + [True, False])
    return op(rng.choice(["add", "add", "remove"]), called, returned, rng.choice("abc"), answer)


def _question(rng: random.Random) -> Operation:
    if rng.random() < 0.3:
        return op("contains", *_short(rng), rng.choice("abc"), rng.random() < 0.5)
    return op("read", *_short(rng), answer=frozenset(rng.sample("abc", rng.choice([0, 1, 1, 2, 2]))))


def _interval(rng: random.Random) -> tuple[int, Any]:
    called = rng.choice([0, 0, 0, rng.randint(0, _END)])
    return called, rng.choice([None, _END + rng.randint(0, 3), rng.randint(called, _END + 3)])


def _short(rng: random.Random) -> tuple[int, int]:
    called = rng.randint(0, _END)
    return called, called + rng.choice([0, 0, 1, 4, 8])


SETS = [frozenset(each) for size in range(4) for each in itertools.combinations("abc", size)]
OF_SETS = [
    *(
        op(f, 0, 1, element, answer)
        for f in ("add", "remove")
        for element in "ab"
        for answer in (True, False)
    ),
    *(op(f, 0, 1, element) for f in ("add", "remove") for element in "ab"),
    *(op("contains", 0, 1, element, answer) for element in "ab" for answer in (True, False)),
]
OF_COUNTERS = [op("add", 0, 1, number) for number in (-2, 0, 1, 3)]


def after(model: Model, state: object, *operations: Operation) -> object:
    for each in operations:
        state = IMPOSSIBLE if state is IMPOSSIBLE else model.step(state, each)
    return state


@pytest.mark.parametrize(
    ("model", "states", "asked"),
    [(Set(), SETS, OF_SETS), (Counter(), range(-3, 4), OF_COUNTERS)],
    ids=["set", "counter"],
)
def test_operations_on_different_parts_can_be_exchanged(
    model: Set | Counter, states: Sequence[object], asked: Sequence[Operation]
) -> None:
    for one, other in itertools.permutations(asked, 2):
        if model.part(one) != model.part(other):
            for state in states:
                assert after(model, state, one, other) == after(model, state, other, one)


@pytest.mark.parametrize(
    ("model", "states", "asked"),
    [(Set(), SETS, OF_SETS), (Counter(), range(-3, 4), OF_COUNTERS)],
    ids=["set", "counter"],
)
def test_what_some_order_leads_to_is_in_reach(
    model: Set | Counter, states: Sequence[Any], asked: Sequence[Operation]
) -> None:
    for changes in itertools.permutations(asked, 2):
        for first, last in itertools.product(states, repeat=2):
            reaches = model.reach(op("read", 0, 1, answer=last), [[each] for each in changes])
            for start in (0, 1):
                led = last in {first, *(after(model, first, *order) for order in _orders(changes[start:]))}
                assert reaches(first, start) or not led


def _orders(changes: Sequence[Operation]) -> list[tuple[Operation, ...]]:
    return [order for size in (1, 2) for order in itertools.permutations(changes, size)]


def test_sums_are_exact_while_they_are_small() -> None:
    groups = [[1, 5], [-3], [10, 10]]
    sums = Sums(groups)

    for start in range(4):
        numbers = [number for group in groups[start:] for number in group]
        possible = {
            sum(each) for size in range(len(numbers) + 1) for each in itertools.combinations(numbers, size)
        }
        assert {total for total in range(-9, 30) if sums.include(total, start)} == possible


def test_large_sums_are_bounded_and_divided() -> None:
    sums = Sums([[6 << 40], [-9 << 40]])

    assert sums.include(3 << 40, 0)  # in doubt
    assert not sums.include(7 << 40, 0)  # not below the highest
    assert not sums.include((3 << 40) + 1, 0)  # not divided by what divides all
    assert not sums.include(6 << 40, 1)


@pytest.mark.parametrize(
    "model", [OwnedMutex(), FencedMutex(), ReentrantMutex(), ReentrantFencedMutex()], ids=str
)
def test_only_its_holder_changes_a_lock(model: Any) -> None:
    asked = [op(f, 0, 1, owner) for f in ("acquire", "release") for owner in "abc"]
    states = {model.initial}
    for _ in range(4):
        for state, each in itertools.product(sorted(states, key=repr), asked):
            now = after(model, state, each)
            if now is not IMPOSSIBLE:
                assert model.holder(state) in {None, model.owner(each)}
                assert model.holder(state) is not None or model.holder(now) == model.owner(each)
                states.add(now)
    assert len(states) > 3


@pytest.mark.parametrize(
    ("make", "model"), [(set_history, Set()), (counter_history, Counter())], ids=["set", "counter"]
)
def test_overlapping_changes_are_judged_as_by_every_order(
    make: Callable[[random.Random], tuple[Operation, ...]], model: Set | Counter
) -> None:
    assert not disagreements(
        random_histories(make, f"parts {model}"),
        lambda history: is_right(history, model),
        lambda history: explained(history, step_of(model), model.initial),
    )


def test_a_read_out_of_reach_of_one_may_be_in_reach_of_another() -> None:
    history = (
        op("add", 3, 4, -1),
        op("read", 1, 9, answer=-1),
        op("read", 5, 10, answer=0),
        op("add", 3, None, 2),
        op("add", 9, None, 1),
    )

    assert is_right(history, Counter())


@pytest.mark.slow
def test_every_history_of_three_operations_on_a_set_is_judged_right() -> None:
    asked = [
        *(op("read", 0, 1, answer=frozenset(each)) for each in ("", "a", "ab")),
        *(op("add", 0, returned, element) for returned in (1, None) for element in "ab"),
        op("remove", 0, 1, "a"),
        op("remove", 0, None, "a"),
        op("add", 0, 1, "a", False),
        op("contains", 0, 1, "b", True),
    ]
    wrong = [
        history
        for history in every_history(3, asked)
        if is_right(history, Set()) != explained(history, step_of(Set()), frozenset())
    ]

    assert not wrong


def test_values_that_nothing_sees_are_one_value() -> None:
    history = (
        op("write", 0, 1, 1),
        op("write", 0, 1, 2),
        op("cas", 0, 1, (3, 4)),
        op("read", 2, 3, answer=1),
        failed("cas", 4, 5, (5, 6), 4),
        op("write", 6, 7, 3),
    )

    merged = CasRegister().coarse(history, range(len(history)))

    assert [each.input for each in merged] == [1, UNSEEN, (3, 4), None, (5, UNSEEN), 3]
    assert CasRegister().coarse(history, [1, 2])[2].input == (3, UNSEEN)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cas-register", "counter", "set", "unique-cas"])
def test_the_later_passes_agree_with_trying_every_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.models.search.SHORT", -MIB)  # the first pass gives up
    monkeypatch.setattr("checkers.models.search.NARROW", 1)
    model = MODELS[name]() if name in {"counter", "set"} else CasRegister(0)

    assert not mismatches(lambda ops: is_right(ops, model), name, step_of(model), model.initial, seed=4)


def concurrent(f: str, count: int, value: Callable[[int], Any]) -> list[Operation]:
    return [op(f, 0, 1_000 + each, value(each)) for each in range(count)]


@pytest.mark.parametrize(
    ("model", "history"),
    [
        (
            Set(),
            [
                *concurrent("add", 400, lambda each: each),
                op("read", 1, 2, answer=frozenset(range(200))),
                op("read", 3, 4, answer=frozenset(range(200, 400))),
            ],
        ),
        (
            Counter(),
            [
                *concurrent("add", 200, lambda each: 2 * each),
                op("read", 1, 2, answer=7),
                op("read", 3, 4, answer=-1),
            ],
        ),
        (Counter(), [*concurrent("add", 60, lambda each: 1 << each), op("read", 1, 900, answer=1 << 70)]),
        (CasRegister(), [*concurrent("write", 400, lambda each: each // 2), op("read", 1, 2_000, answer=-1)]),
        (FencedMutex(), [*concurrent("acquire", 400, str), op("release", 1, 2_000, "x")]),
    ],
    ids=["set", "counter", "powers", "register", "mutex"],
)
def test_many_concurrent_changes_are_not_tried_in_every_combination(
    model: Model, history: list[Operation]
) -> None:
    verdict = search(history, model, Budget(steps=600_000, steps_per_operation=0))

    assert verdict.validity is Validity.INVALID


def test_one_of_very_many_explanations_is_found() -> None:
    history = [*concurrent("add", 100, lambda each: each), op("read", 1, 2, answer=1_000)]

    assert search(history, Counter(), Budget(steps=600_000)).validity is Validity.VALID
