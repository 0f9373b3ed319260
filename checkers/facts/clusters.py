"""Zones: each value that a register held, with the operations that prove when it was there.

Written values are unique, so a value's write and the reads that returned it
belong together, and no other value comes between them (Gibbons and Korach,
"Testing Shared Memories", 1997). Two moments of a zone decide its place:

settled  the earliest return of its operations: by then the value had been there
claimed  the latest call of its operations: the value was there after this

So u certainly came before v iff `u.settled < v.claimed`: an operation of u
had returned before one of v was called.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from checkers.history.records import Header, Op

BELOW_ALL = -2
"""The token that stands in for a write without one: below every mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One value of a register: its write, and the ok reads that returned it."""

    token: int
    write: Op | None  # None: the value from before the run
    reads: tuple[Op, ...]
    settled: float  # ns; infinity if nothing proves that it had been there by any moment
    settled_by: Op | None
    claimed: float  # ns
    claimed_by: Op | None

    def surely_before(self, other: Zone) -> bool:
        """Had this value been there before the other's last operation was called?"""
        return self.settled < other.claimed

    @property
    def proof(self) -> tuple[Op, ...]:
        """The write, and the operation whose return settled the value."""
        return tuple(dict.fromkeys(op for op in (self.write, self.settled_by) if op is not None))


def initial_zone(header: Header, reads: Sequence[Op]) -> Zone:
    """Return the zone of the value from before the run, as if written at minus infinity."""
    claimed = max(reads, key=lambda read: read.called, default=None)
    return Zone(
        token=header.initial_token,
        write=None,
        reads=tuple(reads),
        settled=-math.inf,
        settled_by=None,
        claimed=-math.inf if claimed is None else claimed.called,
        claimed_by=claimed,
    )


def written_zone(write: Op, reads: Sequence[Op], *, acknowledged: bool, shown_by: Op | None = None) -> Zone:
    """Return a write's zone; `acknowledged`: its own ok proves that the value was there when it returned.

    `shown_by` proves it, too: it read a list that was built on this append's list.
    """
    answers = (*reads, shown_by, write if acknowledged else None)
    returns = [(op.returned, op) for op in answers if op is not None and op.returned is not None]
    settled, settled_by = min(returns, key=lambda each: each[0], default=(math.inf, None))
    claimed_by = max((write, *reads), key=lambda op: op.called)
    return Zone(
        token=BELOW_ALL if write.token is None else write.token,
        write=write,
        reads=tuple(reads),
        settled=settled,
        settled_by=settled_by,
        claimed=claimed_by.called,
        claimed_by=claimed_by,
    )
