"""How many late and stale writes a run tried: a fence that was never challenged proves nothing."""

from __future__ import annotations

import numpy as np

from checkers.evidence import Evidence
from checkers.history.columns import ABSENT, Flags, Ints, indices
from checkers.history.ranks import UNRANKED, Summit
from checkers.storage.cluster_columns import ZoneColumns, zones_of
from checkers.storage.earlier_holds import writes_of
from checkers.storage.late_writes import grants_of, newest
from checkers.storage.registers import stale_writes_of
from checkers.storage.short_histories import attempts_if_right
from checkers.storage.stale_writes import came_after_higher


def attempts(evidence: Evidence) -> dict[str, int]:
    """How many late and stale writes were tried, and what became of the stale ones."""
    known = attempts_if_right(evidence)
    if known is not None:
        return known
    zones = zones_of(evidence)
    stale_ones = list(stale_writes_of(evidence))
    after_newer = zones.recorded.flags_of(each.accused for each in stale_ones if came_after_higher(each))
    mark = _accepted(zones)
    fenced = zones.writes[zones.columns.token[zones.writes] != ABSENT]
    grants = grants_of(zones)
    late = _below(zones, newest(zones, grants), fenced) if len(grants) else grants
    accepted = _below(zones, mark, zones.fenced_write) | (after_newer[zones.fenced_write] & _below_any(zones))
    rejected = _rejected(zones)
    undecided = _below(zones, mark, zones.undecided)
    stale = np.concatenate((accepted, rejected, undecided))
    late_tried, stale_tried, stale_accepted = _without_tokens(
        evidence, zones.recorded.flags_of(each.accused for each in stale_ones)
    )
    return {
        "late_writes_attempted": int(np.count_nonzero(late)) + late_tried,
        "stale_writes_attempted": int(np.count_nonzero(stale)) + stale_tried,
        "stale_writes_rejected": int(np.count_nonzero(rejected)),
        "stale_writes_accepted": int(np.count_nonzero(accepted)) + stale_accepted,
    }


def _without_tokens(evidence: Evidence, stale: Flags) -> tuple[int, int, int]:
    """Late writes tried in holds without tokens, stale ones, and those of them that took effect."""
    writes = writes_of(evidence)
    if writes is None:
        return 0, 0, 0
    tried = (writes.is_after_accepted & writes.reached_storage) | stale[writes.rows]
    counted = (writes.is_late, tried, tried & writes.accepted)
    late, attempted, accepted = map(int, map(np.count_nonzero, counted))
    return late, attempted, accepted


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
