"""The budget of a search: bytes, so that it fits into memory, and steps, so that it ends.

Both are counted, not measured, so that a history gets the same verdict on every machine. The bytes are an
estimate of everything that grows with the number of configurations: the kept ones, the ones examined since
the last return, and the results of the model's steps. A test compares it with Python's actual allocations.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

MIB: Final = 1 << 20
KEPT: Final = 120  # bytes of a configuration in a set, without its state: a tuple, two numbers, a slot
EXAMINED: Final = 240  # of an examined one: a key and its slot, a list of rivals, a place on the stack
RIVAL: Final = 110  # of another configuration with the same key
REMEMBERED: Final = 90  # of a result of a model's step: its slot in a dict that grows
_BITS_PER_BYTE = 7  # of a large number
_COMPUTE = 3  # steps charged for a step of the model
_LARGE = 10  # every 2**10 bytes of a state cost another step


class Resource(enum.StrEnum):
    """A resource that a search can run out of."""

    MEMORY = "memory"
    STEPS = "steps"


class OutOfBudgetError(Exception):
    """The search has used up a resource."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of one search: bytes for each object, one after another, and steps for all of them."""

    bytes: int = 160 * MIB
    steps: int = 1_600_000  # about two seconds
    steps_per_operation: int = 120  # in addition: a long history may take longer

    def steps_for(self, operations: int) -> int:
        """Return the steps for a search among this many operations."""
        return self.steps + self.steps_per_operation * operations


class States(dict[Hashable, Hashable]):
    """Equal states as one object, so that each is in memory once; and the rest of the budget."""

    __slots__ = ("bytes", "configurations", "limit", "steps")

    def __init__(self, *, limit: int, steps: int) -> None:
        self.limit = limit  # bytes
        self.bytes = 0  # of the states and the results of steps
        self.configurations = 0  # bytes of the references to the states
        self.steps = steps  # left

    def __missing__(self, state: Hashable) -> Hashable:
        self.remember(_size(state))
        self[state] = state
        return state

    @property
    def is_crowded(self) -> bool:
        """Do the states take more than a quarter of the memory? Most of them may no longer be needed."""
        return self.bytes > self.limit // 4

    def spend(self, steps: int) -> None:
        """Count steps."""
        self.steps -= steps
        if self.steps < 0:
            raise OutOfBudgetError(Resource.STEPS)

    def remember(self, size: int = 0) -> None:
        """Count a result of a step, and its size."""
        self.bytes += REMEMBERED + size
        self.spend(_COMPUTE + (size >> _LARGE))
        self._check()

    def hold(self, size: int) -> None:
        """Count a configuration."""
        self.configurations += size
        self._check()

    def clear(self) -> None:
        """Forget all states."""
        super().clear()
        self.bytes = 0

    def _check(self) -> None:
        if self.bytes + self.configurations > self.limit:
            raise OutOfBudgetError(Resource.MEMORY)


def _size(state: Hashable) -> int:
    """Return the bytes of a state; the elements of a set belong to the history."""
    parts = state if isinstance(state, tuple) else ()
    return sys.getsizeof(state) + sum(map(sys.getsizeof, parts))


def of_numbers(*numbers: int) -> int:
    """Return the bytes of large numbers beyond the size of small ones."""
    return sum(map(int.bit_length, numbers)) // _BITS_PER_BYTE
