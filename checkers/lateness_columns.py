"""Late writes, and stale ones that were tried, counted on columns: as `lateness` and `coverage` do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.columns import ACQUIRE, FENCE, OK, READ, WRITE, Flags, Ints
from checkers.conflict import Conflict, Rule
from checkers.ranks import UNRANKED, Summit
from checkers.zone_columns import ZoneColumns


def late_writes(zones: ZoneColumns, stale: Flags) -> Iterator[Conflict]:
    """Writes that took effect, called after a newer token had been granted; `stale` rows are none."""
    grants, granted = _newest_grants(zones)
    if not len(grants):
        return
    accepted = zones.write[~stale[zones.write]]
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
    columns, ranks = zones.columns, zones.ranks
    writes = columns.rows(WRITE)
    height, called = zones.height[writes], ranks.called[writes]
    grants, granted = _newest_grants(zones)
    late = np.count_nonzero(granted.before(called) > height) if len(grants) else 0
    took_effect, rejected = np.zeros((2, len(columns)), dtype=np.bool_)
    took_effect[zones.write] = True
    rejected[zones.rejected] = True
    is_stale = height < _accepted(zones).before(called)
    decided = np.flatnonzero((took_effect & after_newer | rejected)[writes])
    if len(decided):
        rows = writes[decided]
        possible = Summit(ranks.size, ranks.called[zones.write], zones.level[zones.initials :])
        # closed intervals: what was called when a rejection returned can have caused it
        until = np.where(rejected[rows], ranks.returned[rows], ranks.end[columns.resource[rows]])
        is_stale[decided] |= height[decided] < possible.until(until)
    return {
        "late_writes_attempted": int(late),
        "stale_writes_attempted": int(np.count_nonzero(is_stale)),
        "stale_writes_rejected": int(np.count_nonzero(is_stale & rejected[writes])),
        "stale_writes_accepted": int(np.count_nonzero(is_stale & took_effect[writes])),
    }


def _accepted(zones: ZoneColumns) -> Summit:
    """The newest token of a write that had surely been accepted before a moment."""
    writes = zones.columns.rows(WRITE)
    if np.all(zones.height[writes] >= zones.initial_height[zones.columns.resource[writes]]):
        return zones.mark  # nothing is below the initial values, which stand in it too
    known = zones.initials + np.flatnonzero(zones.settled[zones.initials :] != UNRANKED)
    return Summit(zones.ranks.size, zones.settled[known], zones.level[known])


def _newest_grants(zones: ZoneColumns) -> tuple[Ints, Summit]:
    acquires = zones.columns.rows(ACQUIRE)
    grants = acquires[zones.columns.outcome[acquires] == OK]
    return grants, Summit(zones.ranks.size, zones.ranks.returned[grants], zones.height[grants])
