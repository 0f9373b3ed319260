"""Writes and fences that the log lacks, although clients know that they took effect.

The log is complete: the storage does not have what the log lacks. A missing write that was
acknowledged was *lost* if the storage was restarted after the write had been sent, or if a client
read its value. Otherwise it was *never stored*. A missing write without an answer whose value was
read was lost only if the storage was restarted; otherwise the read and the log contradict each
other. An append counts as a reader, too: it reads a list before it writes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import order_of
from checkers.facts.recorded import last_restart
from checkers.history.columns import FAIL, NO_ROWS, OK, Flags, Ints
from checkers.history.memoized import memoized
from checkers.history.ranks import Summit
from checkers.history.records import Op


@dataclass(frozen=True, slots=True, eq=False)
class Missing:
    """The rows of the missing writes and fences."""

    lost: Ints  # writes
    never_stored: Ints  # acknowledged writes
    contradicted: Ints  # writes that only a read shows
    readers: Mapping[int, Op]  # the first read of each missing write, or the first append that read it
    lost_fences: Ints
    never_raised: Ints  # acknowledged fences


@memoized
def missing(evidence: Evidence) -> Missing:
    """Return the missing writes and fences, sorted by what became of them."""
    order = order_of(evidence)
    if order is None:
        return Missing(NO_ROWS, NO_ROWS, NO_ROWS, {}, NO_ROWS, NO_ROWS)
    zones, log, restarted = zones_of(evidence), order.log, last_restart(evidence)
    columns, writes, fences = zones.columns, zones.writes, order.missing_fences
    was_read: Flags = np.zeros(len(columns), dtype=np.bool_)
    was_read[zones.read_write] = True
    found = {zones.ops.row(append): zones.shown.by[append.index] for append in zones.shown.appends}
    was_read[[*found]] = True
    outcome = columns.outcome[writes]
    known = (outcome == OK) | (was_read[writes] & (outcome != FAIL))
    gone = writes[known & (log.first_of_row[writes] < 0) & ~log.stored_elsewhere[writes]]
    is_lost = (columns.called[gone] <= restarted) | (was_read[gone] & (columns.outcome[gone] == OK))
    are_lost = columns.called[fences] <= restarted
    read = gone[was_read[gone]].tolist()
    readers = {row: next(iter(zones.first_read_of_write(row)), None) or found[row] for row in read}
    never_stored, contradicted = gone[~is_lost & ~was_read[gone]], gone[~is_lost & was_read[gone]]
    lost, never_raised = gone[is_lost], fences[~are_lost]
    never_raised = never_raised[~_were_reached(zones, never_raised, lost)]
    return Missing(lost, never_stored, contradicted, readers, fences[are_lost], never_raised)


def _were_reached(zones: ZoneColumns, fences: Ints, lost: Ints) -> Flags:
    """Which fences may have found the mark at their token, because of a write that was lost later?"""
    highest = Summit(zones.ranks.size, zones.ranks.called[lost], zones.height[lost])
    reached: Flags = highest.until(zones.ranks.returned[fences]) >= zones.height[fences]
    return reached
