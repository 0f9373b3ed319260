"""A kind of run that has many of one thing: of an anomaly, of faults, of clients, of what is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.scripted import STEP, Script


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How to make such a run, and what is found in it."""

    add: Callable[[Script], None]  # the next few operations
    finds: str | None = None  # the anomaly of which there are many; None: there need not be any
    first: Callable[[Script, int], None] | None = None  # what comes before them, for so many operations
    header: dict[str, Any] = field(default_factory=dict)

    def script(self, operations: int) -> Script:
        """A run with about that many operations."""
        run = Script(header={"require": {"stale_writes_attempted": 0}} | self.header)
        if self.first is not None:
            self.first(run, operations)
        while run.operations < operations:
            self.add(run)
        return run


def both(one: Callable[[Script], None], other: Callable[[Script], None]) -> Callable[[Script], None]:
    """One after the other."""

    def add(run: Script) -> None:
        one(run)
        other(run)

    return add


LEASE = 100 * STEP
LEASED = {"ttl": LEASE, "grace": LEASE}
UNFENCED = {"fenced": False}
INCLUSIVE = {"policy": "inclusive"}
