"""Operations that may have raised the mark of a storage, at least for a while.

Without a commit log, these are the operations that took effect, and every write or fence without an
answer. With one, they are the logged operations, and unlogged ones that may have been there for a while:
an acknowledged write or fence, a write that was read, anything without an answer that a restart of the
storage may have undone, and any fence if the log has no fences. No restart has undone a logged operation.
If several fences have one token, the log has one of them and does not say which.

Logged operations, from any client, are in order and have the token that was stored: none took effect
before all operations up to it had been called.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import LogOrder, order_of
from checkers.facts.recorded import last_restart
from checkers.facts.rejection_causes import first_call
from checkers.history.columns import ABSENT, INFO, NO_ROWS, Flags, Ints
from checkers.history.memoized import memoized
from checkers.history.ranks import distinct


def may_be_below(evidence: Evidence, rejected: Ints) -> Flags:
    """Which of these rejected writes may have met a higher token than theirs, of another write or fence?"""
    zones, order = zones_of(evidence), order_of(evidence)
    above, returned = zones.height[rejected] + 1, zones.ranks.returned[rejected]
    # closed intervals: an operation called when a rejection returned can have caused it
    if order is None:
        raising = np.concatenate((zones.fenced_write, zones.optional, zones.fences))
        return first_call(zones, raising, above) <= returned
    lacked = _lacked(evidence)
    may_be_undone = zones.columns.called[rejected] <= last_restart(evidence)
    by_undone = may_be_undone & (first_call(zones, lacked.undone, above) <= returned)
    others = np.concatenate((lacked.others, _fences_at_start(zones)))
    return by_undone | (first_call(zones, others, above) <= returned) | _is_logged(order, rejected)


def _fences_at_start(zones: ZoneColumns) -> Ints:
    """Return the acknowledged fences no higher than the initial mark, which a log may lack."""
    fences = zones.acknowledged_fences
    return fences[zones.columns.token[fences] <= zones.header.initial_token]


def _is_logged(order: LogOrder, rejected: Ints) -> Flags:
    """For which rejected writes can the log have reached a higher token by the time they returned?"""
    columns, returned = order.recorded.columns, order.recorded.ranks.returned[rejected]
    first = order.first_above(columns.resource[rejected], columns.token[rejected])
    return first <= returned


def unlogged(evidence: Evidence) -> Ints:
    """Return the rows of the unlogged operations that may have raised the mark for a while."""
    return np.concatenate(_lacked(evidence))


class _Lacked(NamedTuple):
    """The rows of the unlogged operations that may have raised the mark for a while."""

    undone: Ints  # by a restart, if they ever took effect
    others: Ints


@memoized
def _lacked(evidence: Evidence) -> _Lacked:
    zones, order = zones_of(evidence), order_of(evidence)
    if order is None:
        return _Lacked(NO_ROWS, NO_ROWS)
    columns, log = zones.columns, order.log
    is_logged = log.first_of_row >= 0
    may_be_undone = (columns.outcome == INFO) & (columns.called <= last_restart(evidence))
    writes = zones.writes[columns.token[zones.writes] != ABSENT]
    undone = writes[may_be_undone[writes] & ~is_logged[writes]]
    seen = zones.fenced_write[~is_logged[zones.fenced_write]]
    fences = zones.fences
    if log.has_fences:
        may_be_another = ~is_logged[fences] | _shares_its_token(zones, fences)
        undone = np.concatenate((undone, fences[may_be_undone[fences] & may_be_another]))
        fences = order.missing_fences
    return _Lacked(undone, np.concatenate((seen, zones.optional, fences)))


def _shares_its_token(zones: ZoneColumns, fences: Ints) -> Flags:
    """Which fences have the same token as another one?"""
    different, numbers = distinct(zones.height[fences])
    return np.bincount(numbers, minlength=len(different))[numbers] > 1
