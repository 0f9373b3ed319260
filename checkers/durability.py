"""Was every acknowledged write stored, no failed one, and none of them twice?

Decided by the commit log, which is complete: what does not stand in it was
never stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.records import WRITES, Outcome


def phantom_accepts(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that the storage acknowledged and never stored."""
    if evidence.log is None:
        return
    for op in evidence.history.operations:
        if op.f in WRITES and op.outcome is Outcome.OK and op.index not in evidence.log.places:
            yield Conflict(anomaly="phantom-accept", rule=Rule.NEVER_LOGGED, accused=op)


def ghost_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that ended in fail and stand in the log; an info that took effect is never one."""
    if evidence.log is None:
        return
    for op in evidence.history.operations:
        if op.f in WRITES and op.outcome is Outcome.FAIL and op.index in evidence.log.places:
            yield Conflict(anomaly="ghost-write", rule=Rule.FAILED_BUT_LOGGED, accused=op)


def duplicate_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that stand twice in the log."""
    if evidence.log is None:
        return
    for op in evidence.history.operations:
        if len(evidence.log.places.get(op.index, ())) > 1:
            yield Conflict(anomaly="duplicate-write", rule=Rule.LOGGED_TWICE, accused=op)
