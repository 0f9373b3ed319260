"""The definition of linearizability: some order, found by trying every one, explains the operations.

The objects here are written independently of the models that they are compared with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.objects import IMPOSSIBLE, Model
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.differential import disagreements, random_histories
from tests.support.model_histories import KINDS, random_history

WRONG = object()
"""The answer if the object cannot have given the recorded one."""


def explained(operations: Sequence[Operation], step: Callable[..., Hashable], initial: Hashable) -> bool:
    """Is there an order that keeps real time and holds all operations but some of the infos?"""
    certain = frozenset(i for i, op in enumerate(operations) if op.outcome is not Outcome.INFO)
    before = [{j for j in certain if operations[j].precedes(op)} for op in operations]
    seen = set()

    def search(done: frozenset[int], state: Hashable) -> bool:
        if certain <= done:
            return True
        if (done, state) in seen:
            return False
        seen.add((done, state))
        for i, op in enumerate(operations):
            if i not in done and before[i] <= done:
                after = step(state, op)
                if after is not WRONG and search(done | {i}, after):
                    return True
        return False

    return search(frozenset(), initial)


def register_step(state: Any, op: Any) -> Any | object:
    """A register with compare-and-set, by its definition."""
    if op.f == "read":
        return state if op.outcome is Outcome.FAIL or op.output in {NO_VALUE, state} else WRONG
    if op.f == "write":
        return state if op.outcome is Outcome.FAIL else op.input
    expected, new = op.input
    if op.outcome is Outcome.FAIL:
        return state if state != expected and op.output in {NO_VALUE, state} else WRONG
    return new if state == expected else WRONG


def mutex_step(state: Any, op: Any) -> object:
    """A lock that any process may release, by its definition: is it held?"""
    if op.outcome is Outcome.FAIL:
        return state
    return WRONG if state == (op.f == "acquire") else not state


def owned_mutex_step(state: Any, op: Any) -> object:
    """A lock that only its owner may release, by its definition."""
    if op.outcome is Outcome.FAIL:
        return state
    if op.f == "acquire":
        return op.input if state is None else WRONG
    return None if state == op.input else WRONG


def mismatches(
    judge: Callable[[tuple[Operation, ...]], bool],
    name: str,
    step: Callable[..., Hashable],
    initial: Hashable,
    *,
    seed: int,
    size: int = 6,
) -> list[tuple[Operation, ...]]:
    """The random histories on which `judge` and trying every order disagree."""
    histories = random_histories(lambda rng: random_history(rng, KINDS[name], size), f"{name} {seed}")
    return disagreements(histories, judge, lambda history: explained(history, step, initial))


def step_of(model: Model) -> Callable[..., Hashable]:
    """A model's own step, for trying every order."""

    def step(state: Any, op: Any) -> Any | object:
        after = model.step(state, op)
        return WRONG if after is IMPOSSIBLE else after

    return step


def interval_structures(size: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every order of the calls and returns of `size` operations, up to their names."""

    def extend(
        called: tuple[int, ...], returned: dict[int, int], moment: int
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        if len(returned) == size:
            yield tuple((called[i], returned[i]) for i in range(size))
            return
        if len(called) < size:
            yield from extend((*called, moment), returned, moment + 1)
        for i in range(len(called)):
            if i not in returned:
                yield from extend(called, {**returned, i: moment}, moment + 1)

    yield from extend((), {}, 0)


def every_history(size: int, asked: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """Every choice of `size` operations among `asked` in every interval structure."""
    for intervals in interval_structures(size):
        for choice in itertools.product(asked, repeat=size):
            yield tuple(
                replace(op, called=called, returned=None if op.outcome is Outcome.INFO else returned)
                for op, (called, returned) in zip(choice, intervals, strict=True)
            )


def is_right(operations: tuple[Operation, ...], model: Any) -> bool:
    return search(operations, model).validity is Validity.VALID


def op(
    f: str,
    called: int,
    returned: int | None = None,
    value: int | str | tuple[int, int] | None = None,
    answer: Any = NO_VALUE,
    **others: Any,
) -> Operation:
    """An operation; without a return it is an info."""
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(
        **{"f": f, "input": value, "output": answer, "called": called, "returned": returned}
        | {"outcome": outcome}
        | others
    )


def failed(
    f: str, called: int, returned: int, value: int | tuple[int, int] | None = None, answer: Any = NO_VALUE
) -> Operation:
    return op(f, called, returned, value, answer, outcome=Outcome.FAIL)


def overlapping_adds(size: int, key: str | None) -> tuple[Operation, ...]:
    """Unequal adds that all overlap: two to the power of `size` totals."""
    return tuple(op("add", 0, 100 + i, 2**i, key=key) for i in range(size))
