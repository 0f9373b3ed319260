"""Was every acknowledged write stored, no failed one, none of them twice, and nothing else?

Decided by the commit log, which is complete: a write that it lacks is not in the storage.
An acknowledged write that the log lacks may have been stored and lost again: if the storage
was restarted after the write had been sent, or if a read returned its value. Then it is a
lost-write; otherwise it was never stored.

An unanswered write that was read, and that the log lacks, was lost only if the storage was
restarted. Otherwise the read and the log contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from checkers.explain.conflict import Conflict
from checkers.facts.clusters import Zone
from checkers.facts.evidence import Evidence
from checkers.facts.restarts import restarts_of_storage
from checkers.history.memoized import memoized
from checkers.history.records import WRITES, Op, Outcome
from checkers.rules.duplicate_writes import LOGGED_TWICE
from checkers.rules.ghost_writes import FAILED_BUT_LOGGED, FENCE_FAILED_BUT_LOGGED
from checkers.rules.lost_writes import GONE_FROM_LOG
from checkers.rules.non_linearizable.mismatched_commits import LOGGED_OTHERWISE, NEVER_SENT
from checkers.rules.non_linearizable.misreads import READ_BUT_NOT_LOGGED
from checkers.rules.phantom_accepts import FENCE_NEVER_RAISED, NEVER_LOGGED
from tests.support.object_log import lost_its_token, object_log
from tests.support.operations.order import orders
from tests.support.operations.registers import registers


def phantom_accepts(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that the storage acknowledged and never stored."""
    yield from (each for each in _missing(evidence) if each.anomaly == "phantom-accept")


def lost_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that had been stored, and that the storage no longer has."""
    yield from (each for each in _missing(evidence) if each.anomaly == "lost-write")


def read_without_commit(evidence: Evidence) -> Iterator[Conflict]:
    """Reads of values that the log lacks."""
    yield from (each for each in _missing(evidence) if each.anomaly == "non-linearizable")


@memoized
def _missing(evidence: Evidence) -> Sequence[Conflict]:
    """What the log lacks of what the clients know to be there."""
    log = object_log(evidence)
    if log is None:
        return []
    seen = {
        zone.write.index: zone
        for register in registers(evidence)
        for zone in register.all_zones
        if zone.write is not None and not zone.places and zone.write.outcome is not Outcome.FAIL
    }
    acknowledged = (
        op
        for op in evidence.named(*WRITES)
        if op.index in seen or (op.outcome is Outcome.OK and op.index not in log.of_operation)
    )
    restarts = restarts_of_storage(evidence.history.faults)
    elsewhere = log.stored_elsewhere
    return [
        *(
            _judged(op, seen.get(op.index), restarted=restarts.first_between(op.called, math.inf) is not None)
            for op in acknowledged
            if op.index not in elsewhere
        ),
        *(
            Conflict(
                anomaly="lost-write" if restarts.first_between(fence.called, math.inf) else "phantom-accept",
                breach=FENCE_NEVER_RAISED,
                accused=fence,
            )
            for fence in _missing_fences(evidence)
        ),
    ]


def _missing_fences(evidence: Evidence) -> Iterator[Op]:
    """If fences are logged: those whose token the mark cannot have had when they were acknowledged."""
    if not evidence.history.header.fenced:
        return
    for order in orders(evidence).values():
        for op in order.operations if order.has_fences else ():
            if op.f == "fence" and op.outcome is Outcome.OK and order.was_fenced(op) is None:
                yield op


def _judged(write: Op, zone: Zone | None, *, restarted: bool) -> Conflict:
    reads = () if zone is None else zone.reads[:1]
    if restarted or (reads and write.outcome is Outcome.OK):
        return Conflict(anomaly="lost-write", breach=GONE_FROM_LOG, accused=write, because=reads)
    if reads:
        return Conflict(
            anomaly="non-linearizable", breach=READ_BUT_NOT_LOGGED, accused=reads[0], because=(write,)
        )
    return Conflict(anomaly="phantom-accept", breach=NEVER_LOGGED, accused=write)


def ghost_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that ended in fail and stand in the log; an info that took effect is never one."""
    log = object_log(evidence)
    if log is None:
        return
    for op in evidence.named(*WRITES, "fence"):
        if op.outcome is Outcome.FAIL and op.index in log.of_operation:
            breach = FENCE_FAILED_BUT_LOGGED if op.f == "fence" else FAILED_BUT_LOGGED
            yield Conflict(anomaly="ghost-write", breach=breach, accused=op)


def duplicate_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that stand twice in the log."""
    log = object_log(evidence)
    for op in evidence.named(*WRITES):
        if log is not None and len(log.places(op)) > 1:
            yield Conflict(anomaly="duplicate-write", breach=LOGGED_TWICE, accused=op)


def mismatched_commits(evidence: Evidence) -> Iterator[Conflict]:
    """Commits that no client sent as they were stored: the log and the history contradict each other.

    A truncated history does not say who sent what it lacks.
    """
    history, log = evidence.history, object_log(evidence)
    for entry in () if log is None else log.unmatched:
        if history.header.fenced and lost_its_token(entry):
            continue  # an unfenced-write
        if entry.sent is None and history.is_cut_short:
            continue
        yield Conflict(
            anomaly="non-linearizable",
            breach=NEVER_SENT if entry.sent is None else LOGGED_OTHERWISE,
            accused=entry.accused,
            because=(entry.near,) if entry.near is not None else (),
        )
