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
"""Replaces each written value that no operation sees: nothing tells such values apart."""


def _coarse(operations: Sequence[Operation], positions: Iterable[int]) -> Sequence[Operation]:
    """Return the operations with `UNSEEN` for values that no operation at `positions` sees.

    A value is seen by a read, by a cas that expects it, and by a failed cas that found it. All
    other values allow and forbid the same operations, and lead to equal values.
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
    """A register: `write` a value, `read` the last one written."""

    initial: Hashable = None
    key = staticmethod(key_of)
    coarse = staticmethod(_coarse)

    def step(self, state: State, op: Operation) -> State:
        """Return the state for a read, the new value for a write."""
        return state if op.outcome is Outcome.FAIL else _read_or_written(state, op)

    def is_read(self, op: Operation) -> bool:
        """Is it a read?"""
        return op.f == "read"

    def kind(self, op: Operation) -> Hashable:
        """Group writes of one value, and reads and failures with the same answer."""
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
        """Return the new value if a cas expects the state."""
        if op.f == "cas":
            expected, new = expected_and_new(op.input)
            if op.outcome is Outcome.FAIL:
                return IMPOSSIBLE if state == expected else observed(state, op)
            return new if state == expected else IMPOSSIBLE
        return state if op.outcome is Outcome.FAIL else _read_or_written(state, op)

    def is_read(self, op: Operation) -> bool:
        """Is it a read, or a cas that failed?"""
        return op.f == "read" or op.outcome is Outcome.FAIL

    def kind(self, op: Operation) -> Hashable:
        """Group writes of one value, cas of one pair, and reads and failures with the same answer."""
        return kind_by_answer(op) if self.is_read(op) else (op.f, op.input)


def _read_or_written(state: State, op: Operation) -> State:
    if op.f == "read":
        return observed(state, op)
    return op.input if op.f == "write" else IMPOSSIBLE
