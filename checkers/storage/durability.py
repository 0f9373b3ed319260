"""Was every acknowledged write stored, no failed one, none of them twice, and nothing else?

Decided by the commit log, which is complete: what does not stand in it is not in the
storage. An acknowledged write that is not may have been there all the same, and have
gone: if the storage was restarted after the write had been sent, or if a read returned
its value. Then it is a lost-write; otherwise it was never stored.

A write without an answer that somebody read, and that the log lacks, was lost only if
the storage was restarted. Otherwise the read and the log contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.history.columns import FAIL, FENCE, OK, Ints, indices
from checkers.history.records import Op
from checkers.storage.cluster_columns import Recorded, ZoneColumns
from checkers.storage.log_columns import LogColumns


def missing(zones: ZoneColumns, log: LogColumns, missing_fences: Ints, restarted: int) -> Iterator[Conflict]:
    """What the log lacks of what the clients know to be there.

    Args:
        zones: with the log.
        log: the storage's own order.
        missing_fences: the rows of acknowledged fences that it lacks.
        restarted: until when, in ns, a restart of the storage was in force.
    """
    columns, writes = zones.columns, zones.writes
    was_read = np.zeros(len(columns), dtype=np.bool_)
    was_read[zones.read_write] = True
    outcome = columns.outcome[writes]
    known = (outcome == OK) | (was_read[writes] & (outcome != FAIL))
    gone = writes[known & (log.first_of_row[writes] < 0) & ~log.stored_elsewhere[writes]]
    for row in gone.tolist():
        reads = zones.operations(zones.reads_of_write(row)[:1] if was_read[row] else writes[:0])
        is_acknowledged = columns.outcome[row] == OK
        was_there = columns.called[row] <= restarted or (reads and is_acknowledged)
        yield _gone(zones.ops[row], reads, was_there=bool(was_there))
    for fence in missing_fences.tolist():
        yield Conflict(
            anomaly="lost-write" if columns.called[fence] <= restarted else "phantom-accept",
            rule=Rule.FENCE_NEVER_RAISED,
            accused=zones.ops[fence],
        )


def _gone(write: Op, reads: Sequence[Op], *, was_there: bool) -> Conflict:
    if was_there:
        return Conflict(anomaly="lost-write", rule=Rule.GONE_FROM_LOG, accused=write, because=tuple(reads))
    if reads:
        return Conflict(
            anomaly="non-linearizable", rule=Rule.READ_BUT_NOT_LOGGED, accused=reads[0], because=(write,)
        )
    return Conflict(anomaly="phantom-accept", rule=Rule.NEVER_LOGGED, accused=write)


def ghost_writes(recorded: Recorded, log: LogColumns) -> Iterator[Conflict]:
    """Writes that ended in fail and stand in the log; an info that took effect is never one."""
    columns = recorded.columns
    for row in indices((log.first_of_row >= 0) & (columns.outcome == FAIL)).tolist():
        rule = Rule.FENCE_FAILED_BUT_LOGGED if columns.f[row] == FENCE else Rule.FAILED_BUT_LOGGED
        yield Conflict(anomaly="ghost-write", rule=rule, accused=recorded.ops[row])


def duplicate_writes(recorded: Recorded, log: LogColumns) -> Iterator[Conflict]:
    """Writes that stand twice in the log."""
    writes = recorded.writes
    for row in writes[log.times_logged[writes] > 1].tolist():
        yield Conflict(anomaly="duplicate-write", rule=Rule.LOGGED_TWICE, accused=recorded.ops[row])


def strays(log: LogColumns, *, fenced: bool, is_cut_short: bool) -> Iterator[Conflict]:
    """Commits of what nobody sent, or not so: the log and the history contradict each other.

    A history that is cut short says nothing of who sent what it does not have. A write that
    lost its token on the way to a fenced storage is an unfenced-write.
    """
    positions = log.stray_positions
    if fenced:
        positions = positions[~log.lost_their_tokens[positions]]
    if is_cut_short:
        positions = positions[log.was_sent[positions]]
    for stray in map(log.entry, positions.tolist()):
        yield Conflict(
            anomaly="non-linearizable",
            rule=Rule.NEVER_SENT if stray.sent is None else Rule.LOGGED_OTHERWISE,
            accused=stray.accused,
            because=(stray.near,) if stray.near is not None else (),
        )
