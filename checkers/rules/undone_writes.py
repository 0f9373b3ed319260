"""Rejections explained by an unanswered write that a restart undid.

A write without an answer may have been accepted, and a fence then refuses older tokens. A restart of the
storage may remove the write, because its durability was never promised. What was accepted or read
after that restart contradicts no rejection from before it.

So a rejection is explained iff there is an unanswered write or fence with a token that refuses it, and

- it was called before the rejection returned;
- both were called before a restart was over; and
- nothing called after the rejection and over before that restart shows that the token had not been met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from checkers.explain.conflict import Conflict
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.rejection_causes import called_of_zones
from checkers.history.columns import ABSENT, INFO, NEVER, OK, Flags, Ints, indices
from checkers.history.faults import Faults
from checkers.history.memoized import of_the_last
from checkers.history.ranges import NOWHERE, first_at_most
from checkers.history.ranks import UNRANKED, distinct, places_in, stable_order
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import NO_CAUSE


def unless_undone(zones: ZoneColumns, restarts: Faults, conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """Yield the conflicts, except those based on a rejection that a restart explains."""
    conflicts = list(conflicts)
    rejected = {row for each in conflicts if (row := _rejected(zones, each)) is not None}
    explained = _explained(zones, restarts, np.array(sorted(rejected))) if restarts and rejected else set()
    return (each for each in conflicts if _rejected(zones, each) not in explained)


def _rejected(zones: ZoneColumns, conflict: Conflict) -> int | None:
    """Return the row of the rejection that a conflict is based on, if there is one."""
    if conflict.breach is NO_CAUSE:
        return zones.ops.row(conflict.accused)
    return zones.ops.row(conflict.because[0]) if conflict.breach is FALSE_OR_STALE else None


def _explained(zones: ZoneColumns, restarts: Faults, rejected: Ints) -> set[int]:
    """Return the rejections whose cause a restart can have undone.

    Only two restarts need a test. Of those that began before a rejection returned, the last to be over
    explains the most, since nothing called after the rejection was over before it. Of the others, the
    first does, since the fewest answers are known by then.
    """
    columns = zones.columns
    began, healed = _as_columns(restarts)
    count = np.searchsorted(began, columns.returned[rejected])
    early = indices(count > 0)
    early = early[columns.called[rejected[early]] <= healed[count[early] - 1]]
    late = indices(count < len(restarts))
    unanswered = _Unanswered(zones)
    until = np.minimum(healed[count[early] - 1], columns.returned[rejected[early]])
    by_early = rejected[early][unanswered.any_sent(rejected[early], until)]
    most = _least_refused(zones, began, rejected[late], count[late])
    by_late = rejected[late][unanswered.any_sent(rejected[late], columns.returned[rejected[late]], most)]
    return {*by_early.tolist(), *by_late.tolist()}


@of_the_last
def _as_columns(restarts: Faults) -> tuple[Ints, Ints]:
    """Return when each restart began, and when the last one so far was over, in ns."""
    healed = [min(healed, NEVER) for healed in restarts.healed_by_then]
    return np.array(restarts.began, dtype=np.int64), np.array(healed, dtype=np.int64)


def _least_refused(zones: ZoneColumns, began: Ints, rejected: Ints, restart: Ints) -> Ints:
    """Return the highest level that each rejection can have met and a restart can have undone.

    What was called after the rejection and was over before the restart had not met that level. It lies
    between two restarts, so it is sorted by restart first.
    """
    columns, ranks = zones.columns, zones.ranks
    accepted = zones.fenced_write[columns.outcome[zones.fenced_write] == OK]
    reads, of = zones.all_reads
    is_fenced = of < zones.bare  # no mark refuses a write without a token
    reads, of = reads[is_fenced], of[is_fenced]
    shown = np.concatenate((accepted, reads))
    # A read shows its write, which may have been called after the rejection if the read was not.
    called = np.concatenate(
        (ranks.called[accepted], np.maximum(ranks.called[reads], called_of_zones(zones, of)))
    )
    # A strict mark refuses a write of its own level, but not a read of it.
    strict = int(zones.header.policy == "strict")
    highest = np.concatenate((zones.height[accepted] - strict, zones.level[of]))
    by = np.searchsorted(began, columns.returned[shown], side="right")
    order = np.lexsort((called, by))
    called, highest, by = called[order], highest[order], by[order]
    after = restart * ranks.size + ranks.returned[rejected] + 1
    place = places_in(by * ranks.size + called, after)
    levels, number = distinct(highest)
    from_here = np.append(number + by * len(levels), len(levels) * (len(began) + 1))
    lowest = np.minimum.accumulate(from_here[::-1])[::-1][place] - restart * len(levels)
    return np.append(levels, UNRANKED)[np.minimum(lowest, len(levels))]


class _Unanswered:
    """The writes and fences that may have been accepted without an answer, by resource and level."""

    def __init__(self, zones: ZoneColumns) -> None:
        self._zones = zones
        columns = self._columns = zones.columns
        rows = np.concatenate((zones.writes, zones.fences))
        rows = rows[(columns.outcome[rows] == INFO) & (columns.token[rows] != ABSENT)]
        rows = rows[zones.zone_of_row[rows] == NOWHERE]
        rows = rows[stable_order(zones.height[rows])]
        self._levels, self._resources = zones.height[rows], columns.resource[rows]
        self._called = columns.called[rows]

    def any_sent(self, rejected: Ints, until: Ints, most: Ints | None = None) -> Flags:
        """Which rejections may be due to one of these, called by `until` and at most at the level `most`?"""
        least = self._zones.height[rejected] + (self._zones.header.policy == "inclusive")
        start = np.searchsorted(self._levels, least)
        end = np.searchsorted(self._resources, self._columns.resource[rejected], side="right")
        if most is not None:
            end = np.minimum(end, np.searchsorted(self._levels, most, side="right"))
        return first_at_most(self._called, start, until) < end
