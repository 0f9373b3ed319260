"""What may have raised the mark of a storage, for a while at least.

Without a commit log: what took effect, and every write or fence without an answer. With one, what it
has, and what it lacks if that may have been there for a while: an acknowledged write or fence, a write
that was read, anything without an answer that a restart of the storage may have undone, and any fence
where the log has none. What the log has, no restart has undone; of several fences with one token, it
has one, and does not say which.
"""

from __future__ import annotations

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import order_of
from checkers.facts.recorded import last_restart
from checkers.history.columns import ABSENT, INFO, Flags, Ints
from checkers.history.ranks import distinct


def may_have_raised(evidence: Evidence) -> Ints:
    """The rows of everything that may have raised the mark."""
    zones, order = zones_of(evidence), order_of(evidence)
    if order is None:
        return np.concatenate((zones.fenced_write, zones.optional, zones.fences))
    logged = zones.fences[order.log.first_of_row[zones.fences] >= 0]
    return np.concatenate((zones.fenced_write, logged, unlogged(evidence)))


def unlogged(evidence: Evidence) -> Ints:
    """The rows of what the log lacks, and may have raised the mark for a while."""
    zones, order = zones_of(evidence), order_of(evidence)
    if order is None:
        return np.zeros(0, dtype=np.int64)
    columns, log = zones.columns, order.log
    is_logged = log.first_of_row >= 0
    may_be_undone = (columns.outcome == INFO) & (columns.called <= last_restart(evidence))
    writes = zones.writes[columns.token[zones.writes] != ABSENT]
    undone = writes[may_be_undone[writes] & ~is_logged[writes]]
    seen = zones.fenced_write[~is_logged[zones.fenced_write]]
    fences = zones.fences
    if log.has_fences:
        may_be_another = ~is_logged[fences] | _shares_its_token(zones, fences)
        fences = np.concatenate((fences[may_be_undone[fences] & may_be_another], order.missing_fences))
    return np.concatenate((seen, zones.optional, undone, fences))


def _shares_its_token(zones: ZoneColumns, fences: Ints) -> Flags:
    """Which of some fences has the token of another one?"""
    different, numbers = distinct(zones.height[fences])
    shared: Flags = np.bincount(numbers, minlength=len(different))[numbers] > 1
    return shared
