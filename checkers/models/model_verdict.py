"""The verdict on operations under a model, with the operations that prove it.

Operations are identified by their positions in the judged sequence.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from checkers.models.budget import Resource
from checkers.text.errors import FencepostError
from checkers.vocabulary.verdict import Validity

Method = Literal["pairs", "search"]
"""Decided by comparing pairs of blocks, or by searching for an order."""


class OutOfScopeError(FencepostError):
    """The fast algorithm cannot decide these operations; the search can."""


class Contradiction(enum.StrEnum):
    """The reason why no order explains the operations of a clash; each value completes "because …"."""

    NEVER_WRITTEN = "a value was seen that nothing can have written"
    SEEN_BEFORE_WRITTEN = "a value was seen before its write was called"
    MATCHED_BUT_FAILED = "a compare-and-set failed although it saw the value that it expected"
    TWO_SUCCESSORS = "two compare-and-sets replaced the same value, which was there only once"
    CIRCLE = "compare-and-sets replaced each other's values in a circle"
    CHAIN_AGAINST_TIME = "a value was gone before an operation that saw it was called"
    BOTH_FIRST = "each of two values must have come before the other"
    NEVER_ACQUIRED = "a lock was released that had not been acquired"
    RELEASED_BEFORE_ACQUIRED = "a lock was released before its acquire was called"
    BOTH_HELD = "each of two holds must have ended before the other began"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Operations that contradict each other.

    For BOTH_FIRST and BOTH_HELD they are (a, b, c, d): a, of the first, had
    returned before b, of the second, was called, and c, of the second, before d,
    of the first. A hold that never ended has no d, an initial value has no a.
    """

    contradiction: Contradiction
    operations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to explain everything that had returned by some moment."""

    state: Hashable
    ahead: tuple[int, ...]  # operations that took effect and had not returned
    presumed: tuple[int, ...]  # infos assumed to have taken effect


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEnd:
    """An operation whose return no order explains.

    It is the first such operation, with the configurations before it; or there are none, and
    its return cannot be explained even if all other reads are left out.
    """

    operation: int
    configurations: tuple[Configuration, ...]  # at most `DEAD_ENDS_SHOWN`


DEAD_ENDS_SHOWN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """The operation whose return was unexplained when the search ran out of its budget."""

    operation: int
    spent: Resource

    def __str__(self) -> str:
        done = f"before it had explained the return of operation {self.operation}"
        return f"the search used up its {self.spent} {done}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVerdict:
    """The verdict: is there an order that keeps real time and that the model allows?"""

    validity: Validity
    method: Method
    conflicts: tuple[Clash | DeadEnd, ...] = ()  # at most one per key
    reason: str = ""  # for an unknown validity
    gave_up: tuple[GaveUp, ...] = ()  # at most one per key
    explored: int = 0  # configurations that the search examined
    steps: int = 0  # taken by the search


def combined(verdicts: Iterable[ModelVerdict]) -> ModelVerdict:
    """Combine the verdicts on several objects: invalid if one is, else unknown if one is."""
    each = tuple(verdicts)
    return ModelVerdict(
        validity=max((one.validity for one in each), default=Validity.VALID),
        method="search" if any(one.method == "search" for one in each) else "pairs",
        conflicts=tuple(conflict for one in each for conflict in one.conflicts),
        reason="; ".join(one.reason for one in each if one.reason),
        gave_up=tuple(gave_up for one in each for gave_up in one.gave_up),
        explored=sum(one.explored for one in each),
        steps=sum(one.steps for one in each),
    )
