"""A set, a counter, and a key-value store of texts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.objects.model import (
    IMPOSSIBLE,
    Reaches,
    State,
    answered,
    key_of,
    kind_by_answer,
    observed,
)
from checkers.models.objects.sums import Sums


@dataclass(frozen=True, slots=True)
class Set:
    """A set: `add` and `remove` an element, `contains` one, `read` all of them as a frozenset."""

    initial: frozenset[Hashable] = frozenset()
    key = staticmethod(key_of)
    kind = staticmethod(kind_by_answer)

    def step(self, state: State, op: Operation) -> State:
        """Return the elements after `op`. An answer to an add or remove says whether it changed them."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return observed(state, op)
        present = op.input in state
        if op.f == "contains":
            return answered(present, op, state)
        if op.f == "add":
            return answered(not present, op, state | {op.input})
        if op.f == "remove":
            return answered(present, op, state - {op.input})
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """Does it read one element or all?"""
        return op.f in {"read", "contains"}

    def part(self, op: Operation) -> Hashable:
        """Return the element; a read of all concerns all of them."""
        return None if op.f == "read" else (op.input,)

    def reach(self, read: Operation, groups: Sequence[Sequence[Operation]]) -> Reaches:
        """Can each missing element still be added, and each surplus one be removed?"""
        changes = [(number, op) for number, group in enumerate(groups) for op in group]
        added = {op.input: number for number, op in changes if op.f == "add"}
        removed = {op.input: number for number, op in changes if op.f == "remove"}
        wanted = frozenset(read.output) if isinstance(read.output, frozenset) else None

        def reaches(state: State, number: int) -> bool:
            return wanted is not None and all(
                elements <= last.keys() and min(map(last.__getitem__, elements), default=number) >= number
                for elements, last in ((wanted - state, added), (state - wanted, removed))
            )

        return reaches


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter: `add` a number, which may return the new total, and `read` the total."""

    initial: int = 0
    key = staticmethod(key_of)
    kind = staticmethod(kind_by_answer)

    def step(self, state: State, op: Operation) -> State:
        """Return the total after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return observed(state, op)
        if op.f == "add":
            total = state + op.input
            return answered(total, op, total)
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """Is it a read?"""
        return op.f == "read"

    def part(self, op: Operation) -> Hashable:
        """Return the number added, since sums do not depend on the order; an answer depends on the whole."""
        is_sum = op.f == "add" and op.output is NO_VALUE and isinstance(op.input, int)
        return (op.input,) if is_sum else None

    def reach(self, read: Operation, groups: Sequence[Sequence[Operation]]) -> Reaches:
        """Can some of the numbers add up to the missing sum?"""
        if not (isinstance(read.output, int) and isinstance(self.initial, int)):
            return lambda _, __: True
        sums = Sums([[cast("int", op.input) for op in group] for group in groups])
        return lambda state, number: sums.include(read.output - state, number)


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A store of texts: `put` one, `append` to it, `get` it; every key starts with an empty text."""

    initial: str = ""
    key = staticmethod(key_of)

    def step(self, state: State, op: Operation) -> State:
        """Return the text of one key after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "get":
            return observed(state, op)
        if op.f == "put":
            return op.input
        if op.f == "append":
            return state + op.input
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """Is it a get?"""
        return op.f == "get"

    def kind(self, op: Operation) -> Hashable:
        """Group puts and appends of one text, and gets and failures with the same answer."""
        if op.f == "get" or op.outcome is Outcome.FAIL:
            return (op.f, op.output, op.outcome is Outcome.FAIL)
        return (op.f, op.input)
