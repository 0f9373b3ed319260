"""Stale-write, decided by the storage's own order: a write that stands after a newer token.

Strict: after another write with an equal token, too. The logged token decides, whoever
sent it, and a fence counts as a write does. Where fences are not logged, an acknowledged
one shuts out what took effect after it: a write did so after everything up to its place in the
log had been called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.history.columns import ABSENT, Ints, indices
from checkers.history.ranks import Summit
from checkers.history.records import Header
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.log_columns import LogColumns


def in_log(log: LogColumns, header: Header) -> Iterator[Conflict]:
    """Writes that stand in the log after a newer token."""
    strict = header.policy == "strict"
    has_token = log.token != ABSENT
    start = header.initial_token
    is_low = has_token & ~log.fence & (log.token <= start if strict else log.token < start)
    height = np.where(has_token & ~is_low, log.height, 0)
    before = np.append(0, np.maximum.accumulate(height)[:-1]) if len(log) else height
    is_above = (height > before if strict else height >= before) & (height > 0)
    positions = np.arange(len(log))
    highest = np.append(-1, np.maximum.accumulate(np.where(is_above, positions, -1)))[:-1]
    is_below = (height > 0) & ~is_above & ~log.fence
    is_below &= (log.row < 0) | (log.row != log.row[highest])  # one write that stands twice is a duplicate
    for position in _by_first_commit(log, indices(is_low | is_below)).tolist():
        yield Conflict(
            anomaly="stale-write",
            rule=Rule.BELOW_THE_START if is_low[position] else Rule.LOGGED_AFTER_NEWER,
            accused=log.op(position),
            because=() if is_low[position] else (log.op(int(highest[position])),),
        )


def _by_first_commit(log: LogColumns, positions: Ints) -> Ints:
    """Resource by resource, as their first commits stand in the log."""
    first = log.place[log.first[log.resource[positions]]]
    return positions[np.argsort(first, kind="stable")]


def after_fence(zones: ZoneColumns, log: LogColumns, starts: Ints) -> Iterator[Conflict]:
    """Writes that took effect after a fence with a newer token had been acknowledged that is not logged.

    `starts` are the ranks at which the log can have got to each position at the earliest.
    """
    fences = zones.acknowledged_fences
    if not len(fences) or not len(log):
        return
    mark = Summit(zones.ranks.size, zones.ranks.returned[fences], zones.height[fences])
    starts = np.maximum(starts, 1)
    fenced = indices(~log.fence & (log.token != ABSENT) & (mark.before(starts) > 0))
    if not len(fenced):
        return
    by = fences[mark.entries_before(starts[fenced])]
    newer = zones.columns.token[by]
    stale = log.token[fenced] <= newer if zones.header.policy == "strict" else log.token[fenced] < newer
    stale &= zones.columns.resource[by] == log.resource[fenced]
    for position, fence in zip(fenced[stale].tolist(), by[stale].tolist(), strict=True):
        latest = _sent_last(zones, log, position)
        others = [] if latest == position or log.row[latest] == log.row[position] >= 0 else [latest]
        yield Conflict(
            anomaly="stale-write",
            rule=Rule.SENT_AFTER_NEWER,
            accused=log.op(position),
            because=(zones.ops[fence], *map(log.op, others)),
        )


def _sent_last(zones: ZoneColumns, log: LogColumns, position: int) -> int:
    """Of what stands up to a position, that which was sent last."""
    first = int(log.first[log.resource[position]])
    rows = log.row[first : position + 1]
    return first + int(np.argmax(np.where(rows >= 0, zones.columns.called[rows], 0)))
