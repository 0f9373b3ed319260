"""An operation in the form that models take, from any format of history."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, gt
from typing import Final

from checkers.history.records import Outcome
from checkers.text.errors import ModelError


class NoValue(enum.Enum):
    """The type of `NO_VALUE`, which is not None because a register can hold None."""

    NO_VALUE = "no value"


NO_VALUE: Final = NoValue.NO_VALUE
"""The output of an operation without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: its request, its answer, and the interval between them.

    The interval `[called, returned]` is closed: an operation that returns at 10 is concurrent with one called
    at 10. Times are in any unit: nanoseconds, or the places of the events in a file.
    """

    f: str
    process: int | str = 0
    input: Hashable = None
    output: Hashable = NO_VALUE
    outcome: Outcome = Outcome.OK
    called: int
    returned: int | None = None  # None while the outcome is INFO
    key: Hashable = None  # the object, if a history has several

    def precedes(self, other: Operation) -> bool:
        """Did this operation finish before `other` began?"""
        return self.returned is not None and self.returned < other.called


def owner_of(op: Operation) -> Hashable:
    """Return the owner that an operation on a lock names, by default its process."""
    return op.process if op.input is None else op.input


def expected_and_new(value: Hashable) -> tuple[Hashable, Hashable]:
    """Return the two parts of the input of a cas; ValueError if it is not a pair."""
    if not isinstance(value, tuple) or len(value) != 2:  # noqa: PLR2004 - expected and new
        raise ValueError(f"the input of a cas is (expected, new), not {value!r}")
    return value


def by_key(
    operations: Sequence[Operation], key: Callable[[Operation], Hashable] | None
) -> Iterable[list[int]]:
    """Return the positions of each object's operations, by call; without a key, there is one object.

    Raises:
        ModelError: an operation returned before it was called.
    """
    for op in operations:
        if op.returned is not None and op.returned < op.called:
            raise ModelError(f"{op} returned before it was called")
    positions = list(range(len(operations)))
    called = list(map(attrgetter("called"), operations))
    if any(map(gt, called, called[1:])):
        positions.sort(key=called.__getitem__)
    if key is None:
        return [positions]
    keys = list(map(key, operations))
    if keys and keys.count(keys[0]) == len(keys):
        return [positions]
    objects: dict[Hashable, list[int]] = {}
    for position in positions:
        objects.setdefault(keys[position], []).append(position)
    return objects.values()
