"""Stop points to which no client of a run comes: its user's class or program never reports them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checkers.vocabulary.hazards import Point
from harness.clients.shared_state import STOP_POINTS, SharedState

ENOUGH = {Point.GRANTED: 10, Point.WRITE_SENT: 10, Point.RENEWING: 3}
"""Chances of all clients that are enough: grants, accepted writes, and holders that waited for a renewal."""


def unreached(state: SharedState, reported: Iterable[Point]) -> frozenset[Point]:
    """Return those of the points to which no client ever came, though there were enough chances by now."""
    return frozenset(
        point
        for point in reported
        if not _sum(state.came, point) and _sum(state.chances, point) >= ENOUGH[point]
    )


def _sum(counts: Sequence[int], point: Point) -> int:
    """Add up the counts of all clients."""
    return sum(counts[STOP_POINTS.index(point) :: len(STOP_POINTS)])
