"""Jobs that never began, although a worker was idle for so long that it must have got them.

A job is lost iff its submit was ok, nothing shows that it may have begun, and a worker was idle for longer
than the lease plus the grace after the job was surely available: due, and acknowledged.

**Nothing shows that it may have begun.** No execution of it is recorded, and no take that returned it. No
take with an unknown outcome may have taken effect once the job may have been available: due, and submitted
(`Surroundings.in_force`). Its worker may have got the job and begun it.

**A worker was idle.** It had one and the same take open all the time, and no fault was in force on it, on a
server, or on another worker that waited in a take. Such a worker may have got the job while it was stopped,
and several of them may have got it one after another. Once none of them is left, it is held for
at most one lease more.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.intervals import Interval, joined, without
from checkers.facts.surroundings import surroundings_of
from checkers.history.faults import Fault, Faults, client_of, faults_of
from checkers.history.records import Header, Op, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A stretch of time in which a worker waited in one take, undisturbed."""

    take: Op
    start: float  # ns
    end: float  # ns


@dataclass(frozen=True, slots=True, kw_only=True)
class LostJob:
    """A job that never began, and a worker that was idle for too long."""

    submit: Op
    available: int  # ns; from then on it was acknowledged, and due
    idle: Idle


def patience(header: Header) -> int:
    """Return how long a job may wait while a worker is idle, in ns."""
    return (header.ttl or 0) + header.grace


@memoized_as_seen
def lost_jobs(evidence: Evidence) -> Mapping[int, LostJob]:
    """Return the lost jobs by the index of their submits, in the order of these."""
    begun = {(op.resource, op.job) for op in evidence.named("execute", "take") if op.job is not None}
    waiting = [op for op in evidence.named("submit") if (op.resource, op.job) not in begun]
    queues = {op.resource for op in waiting if op.outcome is Outcome.OK}
    takes = {queue: own for queue, own in evidence.by_resource("take").items() if queue in queues}
    return {each.submit.index: each for each in _lost(evidence, waiting, takes)}


def _lost(evidence: Evidence, waiting: Sequence[Op], takes: Mapping[str, Sequence[Op]]) -> Iterator[LostJob]:
    surroundings = surroundings_of(evidence.history.header, evidence.history.faults)
    unknown = {
        queue: max((surroundings.in_force(op) for op in own if op.outcome is Outcome.INFO), default=-math.inf)
        for queue, own in takes.items()
    }
    idle = {queue: _long_ones(evidence, own) for queue, own in takes.items()}
    most = patience(evidence.history.header)
    for submit in waiting:
        if submit.outcome is not Outcome.OK or submit.resource not in idle:
            continue
        available = max(submit.due or 0, submit.returned or 0)
        own = idle[submit.resource]
        place = bisect_right(own, available + most, key=attrgetter("end"))
        if place < len(own) and unknown[submit.resource] < max(submit.due or 0, submit.called):
            yield LostJob(submit=submit, available=available, idle=own[place])


def _long_ones(evidence: Evidence, takes: Sequence[Op]) -> list[Idle]:
    """Return the stretches in which a worker of one queue was idle for too long, by end."""
    header = evidence.history.header
    faults = faults_of(evidence.history.faults)
    disturbed = _Disturbances(header, faults, takes)
    most = patience(header)
    found = [
        Idle(take=take, start=start, end=end)
        for take in takes
        if take.returned is not None
        for start, end in without([(take.called, take.returned)], disturbed.of(take))
        if end - start > most
    ]
    return sorted(found, key=attrgetter("end"))


class _Disturbances:
    """When the faults of a run kept the workers of one queue from getting a job for certain."""

    def __init__(self, header: Header, faults: Sequence[Fault], takes: Sequence[Op]) -> None:
        self._header, self._known = header, dict[int | None, list[Interval]]()
        self._of_client: dict[int | None, list[Fault]] = defaultdict(list)  # None: of all clients
        self._down = [(fault.began, fault.healed) for fault in faults if fault.client is None]
        for fault in faults:
            if fault.client is not None:
                self._of_client[fault.client].append(fault)
                self._of_client[None].append(fault)
        self._stopped = [*self._while_waiting(takes)]

    def of(self, take: Op) -> list[Interval]:
        """Return when a worker cannot be said to have been idle."""
        client = self._client(take)
        if client not in self._known:
            own = ((fault.began, fault.healed) for fault in self._of_client[client])
            self._known[client] = joined([*own, *self._down, *self._stopped])
        return self._known[client]

    def _client(self, take: Op) -> int | None:
        return None if self._header.clients is None else client_of(take.process, self._header)

    def _while_waiting(self, takes: Sequence[Op]) -> Iterator[Interval]:
        """Yield when a fault was in force on a worker that waited in a take."""
        of_client = {client: Faults(faults) for client, faults in self._of_client.items()}
        for take in takes:
            own = of_client.get(self._client(take), Faults(()))
            until = math.inf if take.learned is None else take.learned
            for place in own.places_between(take.called, until):
                yield max(own[place].began, take.called), min(own[place].healed, until)
