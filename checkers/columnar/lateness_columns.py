"""Late writes, and stale ones that were tried, counted on columns: as `lateness` and `coverage` do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.columnar.columns import ACQUIRE, FENCE, OK, READ, WRITE, Flags, Ints
from checkers.columnar.ranks import UNRANKED, Summit
from checkers.columnar.zone_columns import ZoneColumns
from checkers.conflict import Conflict, Rule


def late_writes(zones: ZoneColumns, stale: Flags) -> Iterator[Conflict]:
    """Writes that took effect, called after a newer token had been granted; `stale` rows are none."""
    grants = _grants(zones)
    if not len(grants):
        return
    granted = _newest(zones, grants)
    accepted = zones.write[np.flatnonzero(~stale[zones.write])]
    late = accepted[granted.before(zones.ranks.called[accepted]) > zones.height[accepted]]
    if not len(late):
        return
    by = grants[granted.entries_before(zones.ranks.called[late])]
    resources = zones.columns.resource
    rows = zones.columns.rows(WRITE, READ, FENCE)
    order = np.zeros(zones.initials, dtype=np.int64)
    order[resources[rows[::-1]]] = rows[::-1]
    for place in np.argsort(order[resources[late]], kind="stable").tolist():
        yield Conflict(
            anomaly="late-write",
            rule=Rule.AFTER_NEWER_GRANT,
            accused=zones.ops[int(late[place])],
            because=(zones.ops[int(by[place])],),
        )


def attempts(zones: ZoneColumns, after_newer: Flags) -> dict[str, int]:
    """How many late and stale writes were tried, and what became of the stale ones.

    `after_newer` are the rows of those that took effect after one with a higher token for certain.
    """
    mark = _accepted(zones)
    late = _below(zones, _newest(zones, _grants(zones)), zones.writes)
    accepted = _below(zones, mark, zones.write) | after_newer[zones.write]
    rejected = _rejected(zones)
    undecided = _below(zones, mark, zones.undecided)
    stale = np.concatenate((accepted, rejected, undecided))
    return {
        "late_writes_attempted": int(np.count_nonzero(late)),
        "stale_writes_attempted": int(np.count_nonzero(stale)),
        "stale_writes_rejected": int(np.count_nonzero(rejected)),
        "stale_writes_accepted": int(np.count_nonzero(accepted)),
    }


def _rejected(zones: ZoneColumns) -> Flags:
    """Of the rejected writes, which carry a lower token than one that can have been accepted by then?"""
    possible = Summit(zones.ranks.size, zones.ranks.called[zones.write], zones.level[zones.initials :])
    # closed intervals: what was called when a rejection returned can have caused it
    newest = possible.until(zones.ranks.returned[zones.rejected])
    rejected: Flags = zones.height[zones.rejected] < newest
    return rejected


def _below(zones: ZoneColumns, mark: Summit, rows: Ints) -> Flags:
    """Of some writes, which carry a lower token than the mark had before they were called?"""
    below: Flags = zones.height[rows] < mark.before(zones.ranks.called[rows])
    return below


def _accepted(zones: ZoneColumns) -> Summit:
    """The newest token of a write that had surely been accepted before a moment."""
    if np.all(zones.height[zones.writes] >= zones.initial_height[zones.columns.resource[zones.writes]]):
        return zones.mark  # nothing is below the initial values, which stand in it too
    known = zones.initials + np.flatnonzero(zones.settled[zones.initials :] != UNRANKED)
    return Summit(zones.ranks.size, zones.settled[known], zones.level[known])


def _grants(zones: ZoneColumns) -> Ints:
    columns = zones.columns
    return np.flatnonzero((columns.f == ACQUIRE) & (columns.outcome == OK))


def _newest(zones: ZoneColumns, grants: Ints) -> Summit:
    """The newest token that had been granted before a moment."""
    return Summit(zones.ranks.size, zones.ranks.returned[grants], zones.height[grants])
