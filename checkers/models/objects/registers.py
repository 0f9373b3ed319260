"""Registers, without and with compare-and-set."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checkers.history.operation import Operation, expected_and_new
from checkers.history.records import Outcome
from checkers.models.objects.model import IMPOSSIBLE, State, key_of, kind_by_answer, observed


class Unseen(enum.Enum):
    """The type of `UNSEEN`."""

    UNSEEN = "unseen"


UNSEEN: Final = Unseen.UNSEEN
"""In place of each written value that no operation sees: nothing tells such values apart."""


def _coarse(operations: Sequence[Operation], positions: Iterable[int]) -> Sequence[Operation]:
    """The operations with `UNSEEN` in place of the values that none of those at `positions` sees.

    A value is seen by a read, by a cas that expects it, and by a failed cas that found it. In all
    other values every operation is possible or not alike, and leads to equal values.
    """
    merged = list(operations)
    chosen = [(position, operations[position]) for position in positions]
    seen = {value for _, op in chosen for value in _sees(op)}
    for position, op in chosen:
        if op.f == "write" and op.input not in seen:
            merged[position] = replace(op, input=UNSEEN)
        elif op.f == "cas":
            expected, new = expected_and_new(op.input)
            if new not in seen:
                merged[position] = replace(op, input=(expected, UNSEEN))
    return merged


def _sees(op: Operation) -> tuple[Hashable, ...]:
    expected = expected_and_new(op.input)[:1] if op.f == "cas" else ()
    return (*expected, op.output)


@dataclass(frozen=True, slots=True)
class Register:
    """`write` a value, `read` the last one written."""

    initial: Hashable = None
    key = staticmethod(key_of)
    coarse = staticmethod(_coarse)

    def step(self, state: State, op: Operation) -> State:
        """A read returns the state, a write replaces it."""
        return state if op.outcome is Outcome.FAIL else _read_or_written(state, op)

    def is_read(self, op: Operation) -> bool:
        """A read."""
        return op.f == "read"

    def kind(self, op: Operation) -> Hashable:
        """Writes of one value; reads and failures with the same answer."""
        if op.f == "write" and op.outcome is not Outcome.FAIL:
            return (op.f, op.input)
        return kind_by_answer(op)


@dataclass(frozen=True, slots=True)
class CasRegister:
    """A register with `cas`, whose input is (expected, new): it replaces only the expected value.

    A failed cas did not find the expected value; its output is the value that it found, or
    `NO_VALUE`. Leave out a cas that failed for another reason.
    """

    initial: Hashable = None
    key = staticmethod(key_of)
    coarse = staticmethod(_coarse)

    def step(self, state: State, op: Operation) -> State:
        """A cas replaces the state if it expects it."""
        if op.f == "cas":
            expected, new = expected_and_new(op.input)
            if op.outcome is Outcome.FAIL:
                return IMPOSSIBLE if state == expected else observed(state, op)
            return new if state == expected else IMPOSSIBLE
        return state if op.outcome is Outcome.FAIL else _read_or_written(state, op)

    def is_read(self, op: Operation) -> bool:
        """A read, or a cas that failed."""
        return op.f == "read" or op.outcome is Outcome.FAIL

    def kind(self, op: Operation) -> Hashable:
        """Writes of one value, cas of one pair; reads and failures with the same answer."""
        return kind_by_answer(op) if self.is_read(op) else (op.f, op.input)


def _read_or_written(state: State, op: Operation) -> State:
    if op.f == "read":
        return observed(state, op)
    return op.input if op.f == "write" else IMPOSSIBLE
