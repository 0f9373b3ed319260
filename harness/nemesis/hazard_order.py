"""The order of a walk over hazards, and what the same pause may hit together.

A holder is first stopped before its write until it is superseded, on each resource: that makes a write
stale, without which a fence is not challenged. Then come the moments at which it has no token yet, where
locks that draw the token late are wrong, and then the others, the longest pauses first.

While a leader of the lock service is stopped, releases are lost, so the locks are regranted only after
an election and then a whole lease. A holder at `granted` is an exception: it first waits until a renewal
has failed, and then often releases its lock through the new leader, seconds before the others are free.
So these have a pause of their own, and the others, which it leaves locked for a while, come before it.
"""

from __future__ import annotations

from checkers.vocabulary.hazards import Cell, End, Hit, Point

TAKES = {End.BEFORE_EXPIRY: 0.5, End.EXPIRED: 1.2, End.REGRANTED: 1.5, End.SUPERSEDED: 1.5}
"""TTLs before the end of a run in which a pause no longer begins: it could not end as it should."""

BY_LUCK = {End.EXPIRED: End.BEFORE_EXPIRY, End.REGRANTED: End.EXPIRED, End.SUPERSEDED: End.EXPIRED}
"""What may have become of some holds at the end of a pause that aims at this for others."""


FIRST = Cell(Point.BEFORE_WRITE, End.SUPERSEDED)
"""What a walk over the moments of a holder begins with."""


def place(cell: Cell) -> tuple[bool, bool, bool, int]:
    """Sort by this."""
    is_late = cell.hit is not Hit.HOLDER or cell.point is not Point.GRANTED
    return cell != FIRST, is_late, _is_free_early(cell), -[*End].index(cell.end)


def are_alike(one: Cell, other: Cell) -> bool:
    """Does one pause fit both?"""
    return TAKES[one.end] == TAKES[other.end] and _is_free_early(one) == _is_free_early(other)


def _is_free_early(cell: Cell) -> bool:
    of_servers = cell.hit in (Hit.LOCK, Hit.STORAGE)
    return of_servers and cell.point is Point.GRANTED and cell.end in (End.REGRANTED, End.SUPERSEDED)
