"""Late-write, which is counted: a superseded holder wrote before its successor did.

The fence cannot see it, because it has not met the newer token yet. It is what
makes lost updates possible. Stale writes that were tried are counted here too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.history.columns import ABSENT, ACQUIRE, OK, Flags, Ints, indices
from checkers.history.ranks import UNRANKED, Summit
from checkers.storage.cluster_columns import ZoneColumns


def late_writes(zones: ZoneColumns, stale: Flags) -> Iterator[Conflict]:
    """Writes that took effect, called after a newer token had been granted; `stale` rows are none."""
    grants = _grants(zones)
    if not len(grants):
        return
    granted = _newest(zones, grants)
    accepted = zones.fenced_write[indices(~stale[zones.fenced_write])]
    late = accepted[granted.before(zones.ranks.called[accepted]) > zones.height[accepted]]
    if not len(late):
        return
    by = grants[granted.entries_before(zones.ranks.called[late])]
    order = zones.recorded.order_of_resources[zones.columns.resource[late]]
    for place in np.argsort(order, kind="stable").tolist():
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
    fenced = zones.writes[zones.columns.token[zones.writes] != ABSENT]
    grants = _grants(zones)
    late = _below(zones, _newest(zones, grants), fenced) if len(grants) else grants
    accepted = _below(zones, mark, zones.fenced_write) | (after_newer[zones.fenced_write] & _below_any(zones))
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
    if not len(zones.rejected):
        return np.zeros(0, dtype=np.bool_)
    writes = zones.fenced_write
    possible = Summit(zones.ranks.size, zones.ranks.called[writes], zones.height[writes])
    # closed intervals: what was called when a rejection returned can have caused it
    newest = possible.until(zones.ranks.returned[zones.rejected])
    rejected: Flags = zones.height[zones.rejected] < newest
    return rejected


def _below_any(zones: ZoneColumns) -> Flags:
    """Of the writes that took effect, which carry a lower token than another one of their resource?"""
    highest = np.zeros(zones.initials, dtype=np.int64)
    resource = zones.columns.resource[zones.fenced_write]
    np.maximum.at(highest, resource, zones.height[zones.fenced_write])
    below: Flags = zones.height[zones.fenced_write] < highest[resource]
    return below


def _below(zones: ZoneColumns, mark: Summit, rows: Ints) -> Flags:
    """Of some writes, which carry a lower token than the mark had before they were called?"""
    below: Flags = zones.height[rows] < mark.before(zones.ranks.called[rows])
    return below


def _accepted(zones: ZoneColumns) -> Summit:
    """The newest token of a write that had surely been accepted before a moment."""
    if np.all(zones.height[zones.writes] >= zones.initial_height[zones.columns.resource[zones.writes]]):
        return zones.mark  # nothing is below the initial values, which stand in it too
    known = zones.initials + indices(zones.settled[zones.initials : zones.bare] != UNRANKED)
    return Summit(zones.ranks.size, zones.settled[known], zones.level[known])


def _grants(zones: ZoneColumns) -> Ints:
    columns = zones.columns
    return indices((columns.f == ACQUIRE) & (columns.outcome == OK))


def _newest(zones: ZoneColumns, grants: Ints) -> Summit:
    """The newest token that had been granted before a moment."""
    return Summit(zones.ranks.size, zones.ranks.returned[grants], zones.height[grants])
