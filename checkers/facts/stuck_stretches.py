"""Stretches of time in which a lock was stuck: a client waited, no client can have held it, none got it.

A lock is stuck if three things hold without a break for longer than a lease and the service's grace
(the grace alone if no lease is known). Any doubt about one of them ends the stretch.

**A client waited.** A client waits while an acquire is open that the service refused in
the end. If an acquire was granted, its client waited before the attempt that was granted, since
the earlier attempts were refused. An acquire with an unknown outcome shows nothing: it may have been
granted. Gaps of up to a tenth of the grace between acquires, of any clients, are ignored: a client
pauses between two acquires, and the service still has its time. A client that was stopped, killed or
cut off did not wait, and does not count again at once.

**No client can have held it.** A client that was granted the lock may have held it from the
attempt until one longest lease after its last renewal had returned, or until its release
was acknowledged. A request that ended in info may take effect until one grace after the fault that
held it up was healed. One that never ended may take effect at any time, unless its client was killed.
A hold whose lease is unknown, such as a session, ends only with an acknowledged release. An acquire
that ended in info reports no lease: if every grant of the run came with one, so did it.
A lock from before the run may last for a lease, too; without a known lease, until the first grant.

**The service was healthy.** No fault was in force, except on clients and on the storage. A
service that recovers from a fault may restart every lease, so one more lease has to pass.

Very many short waits may cover a stretch. Judging it again without each of them takes quadratic time, and
the result is known: without one wait, no client waits for longer than a breath, and the stretch falls into
two. Leaving out the first wait of all, or the last one, leaves one of these two in place. So if both are
needed, all are: a *chain*, as long as each acquire does nothing but wait:

- it was refused, so it cannot have held anything;
- it is not the first operation of all, where a lease from before the run is taken to begin;
- it does not have the longest lease, which decides how long is too long;
- its owner has no hold that ends by a release, or whose lease depends on what the owner did later;
- and it waited without a break, so it appears in the chain only once.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter, itemgetter

import numpy as np

from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.intervals import Cover, Interval, joined, links, without
from checkers.facts.leases import by_owner
from checkers.facts.narrowing import count_of_grants, grants_without, narrowed, of_long_waits
from checkers.facts.surroundings import Surroundings, surroundings_of
from checkers.history.ranges import Above
from checkers.history.records import Op, Outcome

_MANY_WAITING = 33  # acquires of one stretch; the proof of one with fewer may need all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A stretch of time in which no client held a lock, and none got it."""

    start: float  # ns
    end: float  # ns
    lease: int  # ns; the longest that any client asked for or got, 0 if none is known
    waiting: tuple[Op, ...]  # the acquires that were open then, at least one; of many, the fewest
    last: PossibleHold | None  # the last hold that may have kept the lock before


@memoized_as_seen
def stretches(evidence: Evidence) -> Sequence[Stuck]:
    """Return the stretches of time in which a lock was stuck, resource by resource."""
    found: list[Stuck] = []
    history = evidence.history
    surroundings = surroundings_of(history.header, history.faults)
    relevant = partial(of_long_waits, least=surroundings.patience, gap=surroundings.breath)
    chosen = narrowed(evidence, relevant)
    acquires_lease = count_of_grants(evidence) > 0 and not grants_without(evidence, "ttl")
    for _, operations in sorted(chosen.by_resource("acquire", "renew", "release").items()):
        queue = LockQueue(surroundings, operations, acquires_lease=acquires_lease)
        waited = queue.waited()
        if any(queue.is_long(stretch) for stretch in waited):  # otherwise none can be stuck
            holds = sorted(queue.holds(), key=lambda hold: hold.end)
            free = without(without(waited, queue.faults()), queue.held(holds, history.started))
            found += (queue.stuck(each, holds) for each in free if queue.is_long(each))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleHold:
    """The longest time for which a client may have held the lock."""

    setter: Op  # the acquire or renewal behind it
    start: float  # ns
    end: float  # ns
    release: Op | None = None  # the release that ended it; None if its lease did


class LockQueue:
    """The clients that asked for one lock, and what may have kept them from getting it."""

    def __init__(self, surroundings: Surroundings, operations: Sequence[Op], *, acquires_lease: bool) -> None:
        self._surroundings = surroundings
        self._acquires_lease = acquires_lease  # does an acquire also set a lease?
        self._acquires = [op for op in operations if op.f == "acquire"]
        self._own = by_owner(operations)
        self._waits = {op.index: surroundings.waited(op) for op in self._acquires}
        self._first_grant = min((op.sent for op in self._acquires if op.outcome is Outcome.OK), default=None)
        leases = [op.ttl for op in operations if op.ttl]
        is_bare = self._first_grant is not None and not leases  # granted, and never with a lease
        self._lease = max([0 if is_bare else surroundings.header.ttl or 0, *leases])  # the longest

    def is_long(self, stretch: Interval) -> bool:
        """Is a stretch longer than a lock may take to be granted again?"""
        return stretch[1] - stretch[0] > self._surroundings.patience(self._lease)

    def waited(self) -> list[Interval]:
        """Return when any client waited."""
        return joined((each for waits in self._waits.values() for each in waits), self._surroundings.breath)

    def holds(self) -> Iterator[PossibleHold]:
        """Yield every stretch in which a grant, or a renewal of it, may have been in force."""
        for own in self._own.values():
            yield from self._holds_of(own)

    def faults(self) -> list[Interval]:
        """Return when the service was not healthy."""
        return self._surroundings.down(self._lease)

    def held(self, holds: Iterable[PossibleHold], started: int) -> list[Interval]:
        """Return when any client may have held the lock.

        A lock from before the run lasts for a lease; without a known lease, until the first grant.
        """
        without_lease = math.inf if self._first_grant is None else self._first_grant
        before = (-math.inf, started + self._lease if self._lease else without_lease)
        return joined([before, *((hold.start, hold.end) for hold in holds)])

    def stuck(self, stretch: Interval, holds: Sequence[PossibleHold]) -> Stuck:
        """Return what happened before and during a stretch; the holds are sorted by their ends."""
        start, end = stretch
        before = bisect_right(holds, start, key=attrgetter("end"))
        last = bisect_left(holds, holds[before - 1].end, key=attrgetter("end")) if before else None
        return Stuck(
            start=start,
            end=end,
            lease=self._lease,
            waiting=tuple(self._waiting(start, end)),
            last=None if last is None else holds[last],
        )

    def _waiting(self, start: float, end: float) -> Iterator[Op]:
        """Return the acquires that waited at some time between these moments, by call.

        If there are many, return only the last one, and the fewest that cover the time together: many
        stretches may have many acquires each.
        """
        chosen = {*islice(self._last_waiting(start, end), _MANY_WAITING)}
        if len(chosen) == _MANY_WAITING:
            waits, cover = self._cover
            chosen = {max(chosen), *(waits[place] for place in cover.fewest(start, end))}
        return (self._acquires[place] for place in sorted(chosen))

    def _last_waiting(self, start: float, end: float) -> Iterator[int]:
        """Yield the places of the acquires that waited between these moments, the last one first."""
        last = len(self._acquires) - 1
        called = bisect_left(self._acquires, end, key=attrgetter("called"))
        place = self._until.first((start,), last + 1 - called)
        while place is not None:
            waits = self._waits[self._acquires[last - place].index]
            if any(began < end and start < over for began, over in waits):
                yield last - place
            place = self._until.first((start,), place + 1)

    @cached_property
    def _cover(self) -> tuple[list[int], Cover]:
        """The place of each wait's acquire, and a cover of the waits."""
        waits = [(place, wait) for place, op in enumerate(self._acquires) for wait in self._waits[op.index]]
        return [place for place, _ in waits], Cover([wait for _, wait in waits], self._surroundings.breath)

    @cached_property
    def _until(self) -> Above:
        """Until when each acquire waited, the last one first; -1 if it did not."""
        last = [max((end for _, end in self._waits[op.index]), default=-1) for op in reversed(self._acquires)]
        return Above(np.array(last, dtype=np.int64))

    def _holds_of(self, own: Sequence[Op]) -> Iterator[PossibleHold]:
        """Yield the holds of an owner: of its acquires and renewals.

        A renewal may belong to any of the acquires, and lasts equally long in each case. One that belongs to
        an acquire without a lease adds nothing to that hold.
        """
        acquires = [op for op in own if op.f == "acquire" and op.outcome is not Outcome.FAIL]
        renewals = [op for op in own if op.f == "renew" and op.outcome is not Outcome.FAIL]
        release = self._release(own)
        over = math.inf if release is None else release.over
        is_leased = self._leased(own, renewals)
        setters = [(op, op.sent, self._lease if is_leased(op) else math.inf) for op in acquires]
        if acquires:
            first = min(op.sent for op in acquires)
            setters += [(op, max(op.sent, first), self._lease) for op in renewals]
        for setter, since, lease in setters:
            end = min(self._surroundings.in_force(setter) + lease, over)
            if since <= end:
                by = release if end == over else None
                yield PossibleHold(setter=setter, start=since, end=end, release=by)

    def _leased(self, own: Sequence[Op], renewals: Sequence[Op]) -> Callable[[Op], bool]:
        """Return a predicate: does an acquire's hold end by itself, after at most the longest lease?"""
        acquired = [op.called for op in own if op.f == "acquire"]
        promised = [op.called for op in renewals if op.ttl is not None]

        def is_leased(acquire: Op) -> bool:
            if acquire.ttl is not None or (acquire.outcome is Outcome.INFO and self._acquires_lease):
                return True
            again = bisect_right(acquired, acquire.called)
            until = acquired[again] if again < len(acquired) else math.inf  # then another hold's begin
            return bisect_left(promised, acquire.called) < bisect_left(promised, until)

        return is_leased

    def _release(self, own: Sequence[Op]) -> Op | None:
        """Return the release that certainly ended an owner's hold, as the service acknowledged; or None."""
        acquires = [op for op in own if op.f == "acquire"]
        if len(acquires) != 1:  # it may have to be released as often
            return None
        released = (op for op in own if op.f == "release" and op.outcome is Outcome.OK)
        acknowledged = (op for op in released if acquires[0].precedes(op))
        return min(acknowledged, key=attrgetter("over"), default=None)


def waiting_chain(part: Evidence) -> Sequence[Op]:
    """Return, in order, the acquires that cannot be left out, in a part of a run that asks for one lock."""
    surroundings = surroundings_of(part.history.header, part.history.faults)
    unsorted = ((wait, op) for op in part.named("acquire") for wait in surroundings.waited(op))
    waits = sorted(unsorted, key=itemgetter(0))
    breaks = Counter(op.index for _, op in waits)
    asked_more = _asked_more(part.history.operations)
    held = {op.owner for op in part.history.operations if op.f == "release" or _held_without_lease(op)}
    found = (waits[place][1] for place in links([wait for wait, _ in waits], surroundings.breath))
    return [
        op
        for op in found
        if op.outcome is Outcome.FAIL and breaks[op.index] == 1
        if op.index not in asked_more and op.owner not in held
    ]


def _asked_more(operations: Sequence[Op]) -> set[int]:
    """Return the index of the first operation, and of the one with the longest lease."""
    return {operations[0].index, max(operations, key=lambda op: op.ttl or 0).index}


def _held_without_lease(op: Op) -> bool:
    """Is it an acquire that was or may have been granted, without a lease?"""
    return op.f == "acquire" and op.outcome is not Outcome.FAIL and op.ttl is None
