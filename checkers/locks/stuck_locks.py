"""Stuck locks: a client waited, no client can have held the lock, and none got it.

A lock is stuck if for longer than a lease and the service's grace three things hold
without a break. Any doubt about one of them ends the stretch.

**A client waited.** A client waits while an acquire is open that the service refused in
the end, and before the attempt that was granted, since the attempts before it were
refused. An acquire with an unknown outcome shows nothing: it may have been granted.
Of several that follow each other, by whichever client, a gap of up to a tenth of the
grace is passed over: a client pauses between two acquires, and the service has
still had its time. A client that was stopped, killed or cut off did not wait, and
then does not count again at once.

**No client can have held it.** A client that was granted the lock may have held it from the
attempt until the longest lease after its last renewal had returned, or until its release
was acknowledged. What ended in info may take effect until whatever held it up was healed,
and a grace after; what never ended, at any time, unless its client was killed. A hold
whose lease is unknown, such as a session, ends only with an acknowledged release. An acquire
that ended in info reports no lease: where every grant of the run came with one, so did it.
A lock from before the run may last a lease, too.

**The service was healthy.** No fault was in force but on clients and on the storage. A
service that comes back from one may restart every lease, so a lease more has to pass.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from checkers.checker import Checker
from checkers.conflict import Breach, Conflict
from checkers.evidence import Evidence
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import lock_on
from checkers.history.faults import Fault, client_of, faults_of, is_client
from checkers.history.records import Header, Op, Outcome
from checkers.locks.holds import count_of_grants, grants_without_lease, narrowed, of_long_waits
from checkers.locks.intervals import Interval, joined, without

_BREATHS = 10  # a gap between two acquires is a breath if it is so small a part of the grace
_MOST_NAMED = 3  # of those who waited; the others are only counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A stretch of time in which no client held a lock, and none got it."""

    start: float  # ns
    end: float  # ns
    lease: int  # ns; the longest that anybody asked for or got
    waiting: tuple[Op, ...]  # the acquires that were open then; more than none
    last: Hold | None  # the one that may have kept the lock held last


def stuck_locks(evidence: Evidence) -> Iterator[Conflict]:
    """One conflict for each stretch of time in which a lock was stuck."""
    for stuck in stretches(evidence):
        kept_by = None if stuck.last is None else stuck.last.setter
        yield NOBODY_GRANTED.conflict(stuck.waiting[-1], kept_by, *stuck.waiting[:-1])


def stretches(evidence: Evidence) -> Iterator[Stuck]:
    """The stretches of time in which a lock was stuck, resource by resource."""
    history = evidence.history
    surroundings = Surroundings(history.header, faults_of(history.faults))
    relevant = partial(of_long_waits, least=surroundings.patience, gap=surroundings.breath)
    chosen = narrowed(evidence, relevant)
    acquires_lease = count_of_grants(evidence) > 0 and not grants_without_lease(evidence)
    for _, operations in sorted(chosen.by_resource("acquire", "renew", "release").items()):
        queue = Queue(surroundings, operations, acquires_lease=acquires_lease)
        waited = queue.waited()
        if any(queue.is_long(stretch) for stretch in waited):  # else there is nothing to look for
            holds = list(queue.holds())
            doubts = joined(queue.doubts(holds, history.started))
            yield from (queue.stuck(each, holds) for each in without(waited, doubts) if queue.is_long(each))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """When somebody may have held the lock, at the most."""

    setter: Op  # the acquire or renewal behind it
    start: float  # ns
    end: float  # ns
    release: Op | None = None  # that ended it; None if its lease did


class Surroundings:
    """The faults of a run: on its clients, and on what is not the storage."""

    def __init__(self, header: Header, faults: Sequence[Fault]) -> None:
        self.header = header
        self._away: dict[int | None, list[Interval]] = {}  # by client; None: unknown clients
        self.of_clients = [fault for fault in faults if fault.client is not None]
        self.of_service = [
            fault for fault in faults if fault.client is None and not fault.target.startswith("storage")
        ]

    @property
    def breath(self) -> float:
        """The longest gap between two acquires that counts as waiting, in ns."""
        return self.header.grace / _BREATHS

    def patience(self, lease: int) -> float:
        """How long a lock may take to be granted again, in ns; `lease` is the longest that it knows."""
        lease = max(lease, self.header.ttl or 0)
        return lease + self.header.grace if lease > 0 else math.inf

    def away(self, op: Op, after: float) -> list[Interval]:
        """When the client of an operation may have been stopped, killed or cut off; and so long after."""
        client = None if self.header.clients is None else client_of(op.process, self.header)
        if client not in self._away:
            hits = (fault for fault in self.of_clients if client in {None, fault.client})
            self._away[client] = joined((fault.began, fault.healed + after) for fault in hits)
        return self._away[client]

    def in_force(self, setter: Op) -> float:
        """The latest moment at which a request can have been taken up."""
        if setter.returned is not None:
            return setter.returned
        left = self._killed(setter) if setter.learned is None else setter.learned
        until = left + self.header.grace
        held_up = (
            fault.healed
            for fault in (*self.of_service, *self.of_clients)
            if not (fault.kind == "kill" and fault.client is not None)
            and fault.overlaps(setter.called, until)
        )
        return max([left, *held_up]) + self.header.grace

    def _killed(self, op: Op) -> float:
        """When the client of an operation without an end was killed; infinity if no kill is known."""
        kills = (
            fault.began
            for fault in self.of_clients
            if fault.kind == "kill" and fault.began >= op.called and self._hit(fault, op)
        )
        return math.inf if self.header.clients is None else min(kills, default=math.inf)

    def _hit(self, fault: Fault, op: Op) -> bool:
        return fault.client is not None and is_client(op.process, fault.client, self.header)


class Queue:
    """Those who asked for one lock, and what may have kept them from getting it."""

    def __init__(self, surroundings: Surroundings, operations: Sequence[Op], *, acquires_lease: bool) -> None:
        self._surroundings = surroundings
        self._acquires_lease = acquires_lease  # does the request for the lock set its lease, too?
        self._acquires = [op for op in operations if op.f == "acquire"]
        self._own: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            self._own[op.owner].append(op)
        self._lease = max([surroundings.header.ttl or 0, *(op.ttl or 0 for op in operations)])  # the longest

    def is_long(self, stretch: Interval) -> bool:
        """Is it longer than a lock may take to be granted again?"""
        return stretch[1] - stretch[0] > self._surroundings.patience(self._lease)

    def waited(self) -> list[Interval]:
        """When somebody waited."""
        return joined((each for op in self._acquires for each in self._waits(op)), self._surroundings.breath)

    def holds(self) -> Iterator[Hold]:
        """Every stretch in which a grant, or a renewal of it, may have been in force."""
        for acquire in self._acquires:
            if acquire.outcome is not Outcome.FAIL:
                yield from self._holds(acquire)

    def doubts(self, holds: Sequence[Hold], started: int) -> Iterator[Interval]:
        """When somebody may have held the lock, or the service was not healthy."""
        yield -math.inf, started + self._lease
        for fault in self._surroundings.of_service:
            yield fault.began, fault.healed + self._lease
        for hold in holds:
            yield hold.start, hold.end

    def stuck(self, stretch: Interval, holds: Sequence[Hold]) -> Stuck:
        """What happened before and during a stretch."""
        start, end = stretch
        before = (hold for hold in holds if hold.end <= start)
        last = max(before, key=lambda hold: hold.end, default=None)
        return Stuck(
            start=start,
            end=end,
            lease=self._lease,
            waiting=tuple(
                op for op in self._acquires if any(a < end and start < b for a, b in self._waits(op))
            ),
            last=last,
        )

    def _waits(self, op: Op) -> list[Interval]:
        """When the client of an acquire waited for certain."""
        end = op.returned if op.outcome is Outcome.FAIL else op.attempt
        if end is None or end <= op.called:
            return []
        away = self._surroundings.away(op, self._surroundings.breath + 1)
        first = bisect_left(away, op.called, key=itemgetter(1))
        last = bisect_right(away, end, key=itemgetter(0))
        return without([(op.called, end)], away[first:last])

    def _holds(self, acquire: Op) -> Iterator[Hold]:
        own = self._own[acquire.owner]
        renewals = [op for op in own if op.f == "renew" and op.outcome is not Outcome.FAIL]
        is_leased = self._is_leased(acquire, renewals)
        release = self._release(acquire)
        over = math.inf if release is None or release.returned is None else release.returned
        for setter in (acquire, *renewals):
            lapses = self._surroundings.in_force(setter) + self._lease if is_leased else math.inf
            start, end = max(setter.sent, acquire.sent), min(lapses, over)
            if start <= end:
                yield Hold(setter=setter, start=start, end=end, release=release if end == over else None)

    def _is_leased(self, acquire: Op, renewals: Sequence[Op]) -> bool:
        """Does the hold end by itself, after no more than the longest lease?"""
        if acquire.ttl is not None or (acquire.outcome is Outcome.INFO and self._acquires_lease):
            return True
        again = (
            op.called for op in self._own[acquire.owner] if op.f == "acquire" and op.called > acquire.called
        )
        until = min(again, default=math.inf)  # renewals after that are of another hold
        return any(op.ttl is not None and acquire.called <= op.called < until for op in renewals)

    def _release(self, acquire: Op) -> Op | None:
        """The release by which the service acknowledged the end of a hold; None if that is not certain."""
        own = self._own[acquire.owner]
        if sum(op.f == "acquire" for op in own) > 1:  # it may have to be given back as often
            return None
        acknowledged = (
            op for op in own if op.f == "release" and op.outcome is Outcome.OK and acquire.precedes(op)
        )
        return min(acknowledged, key=lambda op: op.returned or 0, default=None)


def _nobody_granted(n: Narrator, conflict: Conflict) -> Story:
    resource = conflict.accused.resource
    stuck = _stretch(n, conflict)
    whom = n.whom(conflict.accused)
    return Story(
        summary=(
            f"{lock_on(resource)} was stuck: from {n.at(stuck.start)} to {n.at(stuck.end)} no client can have"
            f" held it, {whom} waited for it, and no client got it"
        ),
        steps=(
            *_held_last(n, stuck),
            *_waiting(n, stuck.waiting),
            (
                f"Between {n.at(stuck.start)} and {n.at(stuck.end)} no fault was in force on the lock"
                " service or on the waiting clients."
            ),
            (
                f"No client was granted {lock_on(resource)} in that time, which is longer than the longest"
                f" lease ({n.lasting(stuck.lease)}) plus the time that the service may take"
                f" ({n.lasting(n.history.header.grace)})."
            ),
        ),
        proof=stuck.waiting,
    )


def _stretch(n: Narrator, conflict: Conflict) -> Stuck:
    """The stretch in the whole history that the conflict is about."""
    return next(
        stuck
        for stuck in stretches(Evidence(history=n.history))
        if any(op.index == conflict.accused.index for op in stuck.waiting)
    )


def _held_last(n: Narrator, stuck: Stuck) -> Iterator[str]:
    if stuck.last is None:
        yield "No client is known to have held it, and any lease from before the run was over by then."
        return
    setter = stuck.last.setter
    asked = "a renewal" if setter.f == "renew" else "an acquire"
    yield (
        f"The last possible holder was {n.whom(setter)}, with {asked} that was answered"
        f" {n.answered(setter)}: {_over(n, stuck.last)}."
    )
    if stuck.last.end < stuck.start == n.history.started + stuck.lease:
        yield (
            f"A lease from before the run, if there was one, was over by {n.at(stuck.start)}:"
            f" {n.lasting(stuck.lease)} after the first event."
        )


def _over(n: Narrator, hold: Hold) -> str:
    if hold.release is None:
        return f"its lease was over by {n.at(hold.end)}"
    return f"its release was acknowledged to {n.whom(hold.release)} {n.answered(hold.release)}"


def _waiting(n: Narrator, waiting: Sequence[Op]) -> Iterator[str]:
    for op in waiting[-_MOST_NAMED:]:
        yield f"{n.who(op)} asked for it {n.sent(op)} and {_in_vain(n, op)}."
    if len(waiting) > _MOST_NAMED:
        yield f"Before them, {len(waiting) - _MOST_NAMED} others waited, one after another without a gap."


def _in_vain(n: Narrator, op: Op) -> str:
    if op.attempt is None:
        return f"was refused {n.answered(op)}"
    return f"kept asking until {n.at(op.attempt)}: only that attempt was granted, answered {n.answered(op)}"


# because: what kept the lock held last, then who else waited
NOBODY_GRANTED = Breach(anomaly="stuck-lock", rule="not-granted", story=_nobody_granted)

CHECKER = Checker(name="stuck-lock", evidence="observed", decides=("stuck-lock",), check=stuck_locks)
