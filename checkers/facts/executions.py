"""The executions of jobs: until when each was certainly in progress, and whether a fault outlived its lease.

An execution lasts from its call to the moment at which its program reported its end (`ended`). If nobody
recorded that, it is only believed as far as it was seen: until its last heartbeat that was answered ok was
*called*, since the program may have ended before that heartbeat returned. An execution that ended in info is
believed no longer than that either. Its `ended` is when its process was seen to be dead, which is
after its death, and the queue may have noticed that first and given the job to another worker.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.evidence import Evidence, in_columns, memoized_as_seen
from checkers.facts.intervals import Interval, joined
from checkers.history.columns import SUBMIT
from checkers.history.faults import Fault, Faults, client_of, faults_of
from checkers.history.records import Op, Outcome

QUEUE = ("lock", "queue")
"""The targets of faults that hit the servers of a queue, which may be made of a lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An execution, and until when it was certainly in progress."""

    op: Op
    end: int  # ns
    seen: Op | None  # the heartbeat that shows this, where the execution itself does not


def has_jobs(evidence: Evidence) -> bool:
    """Did clients submit, take or execute jobs?"""
    return bool(np.any(in_columns(evidence).columns.f >= SUBMIT))


@memoized_as_seen
def executions_of(evidence: Evidence) -> Mapping[tuple[str, str | None], Sequence[Execution]]:
    """Return the executions of each job of each queue, in the order of their calls, then of their ends."""
    last: dict[tuple[str, str | None], Op] = {}  # the last call of a heartbeat that was answered, by owner
    for op in evidence.named("heartbeat"):
        if op.outcome is Outcome.OK:
            last[op.resource, op.owner] = op
    found: dict[tuple[str, str | None], list[Execution]] = defaultdict(list)
    for op in evidence.named("execute"):
        found[op.resource, op.job].append(_execution(op, last.get((op.resource, op.owner))))
    return {job: sorted(own, key=lambda each: (each.op.called, each.end)) for job, own in found.items()}


def _execution(op: Op, heartbeat: Op | None) -> Execution:
    if op.outcome is not Outcome.INFO and op.ended is not None:
        return Execution(op=op, end=op.ended, seen=None)
    if heartbeat is None or heartbeat.called <= op.called:
        return Execution(op=op, end=op.called, seen=None)
    return Execution(op=op, end=heartbeat.called, seen=heartbeat)


@memoized_as_seen
def worked(evidence: Evidence) -> Mapping[int | None, Sequence[Interval]]:
    """Return when each client waited for a job, or executed one; stretches in order."""
    header = evidence.history.header
    found: dict[int | None, list[Interval]] = defaultdict(list)
    for op in evidence.named("take", "execute"):
        found[client_of(op.process, header)].append((op.called, _over(op)))
    return {client: joined(stretches) for client, stretches in found.items()}


def executions_past_lease(evidence: Evidence) -> int:
    """Count the executions under a fault that lasted longer than their lease, and was seen healed.

    Their worker was stopped or cut off, or the queue was; a worker that was killed executes nothing. A lease
    counts from the beginning of the fault, or of the execution if that came later.
    """
    ttl = evidence.history.header.ttl
    if ttl is None:
        return 0
    of_client: dict[int | None, list[Fault]] = defaultdict(list)  # None: of the queue
    for fault in faults_of(evidence.history.faults):
        if fault.healed < math.inf and (fault.client is not None or fault.target.partition(":")[0] in QUEUE):
            of_client[fault.client].append(fault)
    on = {client: Faults(faults) for client, faults in of_client.items()}
    executions = (each.op for own in executions_of(evidence).values() for each in own)
    return sum(_outlived(evidence, op, ttl, on) for op in executions)


def _outlived(evidence: Evidence, op: Op, ttl: int, on: Mapping[int | None, Faults]) -> bool:
    client = client_of(op.process, evidence.history.header)
    until = _over(op)
    hit = (
        faults[place]
        for faults in (on.get(client), on.get(None))
        if faults is not None
        for place in faults.places_between(op.called, until)
    )
    return any(min(fault.healed, until) - max(fault.began, op.called) > ttl for fault in hit)


def _over(op: Op) -> float:
    """Return when an execution was known to be over, in ns; infinity if it never was."""
    moments = (op.ended, op.learned)
    return next((moment for moment in moments if moment is not None), math.inf)
