"""Leases: until when was a grant promised?

A grant's *setters* are its acquire and the renews of its hold that did not fail. T is
the latest start of an ok setter that carries a ttl, and the lease is promised until T
plus the smallest ttl of the setters that had not returned before T: any of those may
have been the last one that the service saw. The promise ends with the call of the
first release or revoke, however that ended.

An owner that acquires again has several holds, and a renew is of the one whose acquire
was called last before it. If another acquire of the owner was in flight between the
two, or its outcome is unknown, the renew may be of that hold instead. Then it counts
only if it returned while the lease was still promised: no other client can have held the
lock in between. Otherwise its promise binds only what was sent after it had returned, since
the owner held the lock then, by whichever of its holds. An operation of another hold of the
owner that may have set a shorter lease meanwhile shortens the promise.

Time is the clients' own. A promise counts from when it was asked for, which is
before the service made it, so no clock of a server is needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, compress
from operator import not_

from checkers.evidence import Evidence
from checkers.history.records import Op, Outcome

ENDS = frozenset({"release", "revoke"})
"""The operations that end a hold, whatever the service says to them."""


def granted(operations: Iterable[Op]) -> list[Op]:
    """The acquires that got the lock."""
    return [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A grant, and how long the service promised it."""

    grant: Op
    end: float  # ns; -infinity where nothing was promised
    set_by: Op | None  # the setter that the promise counts from
    is_doubtful: bool = False  # may the setter be of another hold?

    @property
    def returned(self) -> float:
        """When the grant came back, in ns."""
        return _returned(self.grant)

    @property
    def since(self) -> float:
        """Whatever is granted and was sent after this, in ns, came later."""
        return _returned(self.set_by) if self.is_doubtful and self.set_by else self.returned


def promises(evidence: Evidence) -> Iterator[list[Lease]]:
    """The leases of all grants, and those of doubtful renewals, resource by resource."""
    for _, operations in sorted(evidence.by_resource("acquire", "renew", *ENDS).items()):
        own: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            own[op.owner].append(op)
        found = (lease for each in own.values() for lease in promises_of(each))
        yield sorted(found, key=lambda lease: lease.grant.index)


def lease_of(grant: Op, own: Iterable[Op]) -> Lease:
    """The lease of one grant; `own` is what its owner did with the lock, the grant included, by call."""
    return next(lease for lease in leases_of(own) if lease.grant.index == grant.index)


def leases_of(own: Iterable[Op]) -> Iterator[Lease]:
    """The leases of an owner's grants; `own` is what it did with one lock, by call."""
    return (lease for lease in promises_of(own) if not lease.is_doubtful)


def promises_of(own: Iterable[Op]) -> Iterator[Lease]:
    """The lease of each of an owner's grants, and then those of its doubtful renewals."""
    own = list(own)
    holds = _holds(own)
    later = _Later(holds)
    earlier = _Earlier()
    ends = deque(op for op in own if op.f in ENDS)
    for place, hold in enumerate(holds):
        while ends and ends[0].precedes(hold.acquire):
            ends.popleft()
        earlier.drop_before(hold.acquire)
        if hold.acquire.outcome is Outcome.OK:
            given_up = ends[0].called if ends else math.inf
            promised = _Promised(hold)
            last = _last_promise(hold, promised)
            if last is None:
                yield Lease(grant=hold.acquire, end=-math.inf, set_by=None)
            certain = [] if last is None else [last]
            for setter in (*certain, *_doubtful_after(hold, last)):
                is_doubtful = setter is not last
                others = (
                    earlier.shortened(setter, is_doubtful=is_doubtful),
                    _shortened(setter, hold.acquire, is_doubtful=True) if is_doubtful else math.inf,
                    later.shortened(place, setter, is_doubtful=is_doubtful),
                )
                end = min(promised.by(setter.sent), given_up, *others)
                yield Lease(grant=hold.acquire, end=end, set_by=setter, is_doubtful=is_doubtful)
        earlier.add(hold.setters)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """What one acquire, if it got the lock, and the renews after it asked for."""

    acquire: Op
    renews: Sequence[Op]  # ok or info
    doubtful_before: bool  # may an earlier acquire of the owner take effect after this one?
    next_call: float  # ns; when the owner acquired again

    @property
    def setters(self) -> tuple[Op, ...]:
        return (self.acquire, *self.renews)

    def is_in_doubt(self, setter: Op) -> bool:
        """May it be of another hold of the owner?"""
        return setter is not self.acquire and (self.doubtful_before or _returned(setter) >= self.next_call)


def _holds(own: Sequence[Op]) -> list[_Hold]:
    """What may have been a hold: the acquires that did not fail, each with its renews."""
    acquires = [op for op in own if op.f == "acquire" and op.outcome is not Outcome.FAIL]
    calls = [op.called for op in acquires]
    renews: list[list[Op]] = [[] for _ in acquires]
    for op in own:
        place = bisect_right(calls, op.called) - 1
        if place >= 0 and op.f == "renew" and op.outcome is not Outcome.FAIL:
            renews[place].append(op)
    holds = []
    reached = -math.inf
    for place, acquire in enumerate(acquires):
        hold = _Hold(
            acquire=acquire,
            renews=renews[place],
            doubtful_before=reached >= acquire.sent,
            next_call=calls[place + 1] if place + 1 < len(calls) else math.inf,
        )
        holds.append(hold)
        reached = max(reached, _returned(acquire))
    return holds


class _Earlier:
    """The setters of an owner's earlier holds that may take effect during this one."""

    def __init__(self) -> None:
        self._answered: list[Op] = []
        self._shortest = {False: math.inf, True: math.inf}  # of the ttls of those without an answer

    def add(self, setters: Iterable[Op]) -> None:
        """Those of the hold that was looked at last."""
        for op in setters:
            if op.returned is not None:
                self._answered.append(op)
                continue
            for is_doubtful, shortest in self._shortest.items():
                if _may_shorten(op, is_doubtful=is_doubtful):
                    self._shortest[is_doubtful] = min(shortest, op.ttl or 0)

    def drop_before(self, acquire: Op) -> None:
        """Only those count that had not returned when the next hold was asked for."""
        self._answered = [op for op in self._answered if not op.precedes(acquire)]

    def shortened(self, last: Op, *, is_doubtful: bool) -> float:
        """The earliest end of a lease that any of them may have set after a setter of this hold.

        Those without an answer were all called before that.
        """
        ends = (_shortened(last, op, is_doubtful=is_doubtful) for op in self._answered)
        return min([last.sent + self._shortest[is_doubtful], *ends])


class _Later:
    """The setters of an owner's later holds."""

    def __init__(self, holds: Sequence[_Hold]) -> None:
        self._holds = holds
        self._calls = [hold.acquire.called for hold in holds]
        self._first_end = {is_doubtful: self._ends(is_doubtful=is_doubtful) for is_doubtful in (False, True)}

    def shortened(self, place: int, last: Op, *, is_doubtful: bool) -> float:
        """The earliest end of a lease that any of them may have set after a setter of the hold at a place.

        What was called after that was sent after it, too.
        """
        after = max(bisect_left(self._calls, last.sent), place + 1)
        during = (op for hold in self._holds[place + 1 : after] for op in hold.setters)
        ends = (_shortened(last, op, is_doubtful=is_doubtful) for op in during)
        return min([self._first_end[is_doubtful][after], *ends])

    def _ends(self, *, is_doubtful: bool) -> list[float]:
        """From each hold on, the earliest end that its setters and those after it may have set."""
        ends = (
            min(
                (op.sent + (op.ttl or 0) for op in hold.setters if _may_shorten(op, is_doubtful=is_doubtful)),
                default=math.inf,
            )
            for hold in reversed(self._holds)
        )
        return [*accumulate(ends, min, initial=math.inf)][::-1]


def _may_shorten(op: Op, *, is_doubtful: bool) -> bool:
    """Does it say which lease it set? An acquire that does not leaves nothing of a doubtful promise."""
    return op.ttl is not None or (is_doubtful and op.f == "acquire")


def _shortened(last: Op, other: Op, *, is_doubtful: bool) -> float:
    """The earliest end of a lease that an operation of another hold may have set after `last`."""
    if _returned(other) < last.sent or not _may_shorten(other, is_doubtful=is_doubtful):
        return math.inf
    return max(last.sent, other.sent) + (other.ttl or 0)


def _promises(hold: _Hold) -> list[Op]:
    """The ok setters that carry a ttl, the first sent first."""
    promises = (op for op in hold.setters if op.outcome is Outcome.OK and op.ttl is not None)
    return sorted(promises, key=lambda op: op.sent)


def _last_promise(hold: _Hold, promised: _Promised) -> Op | None:
    """The ok setter with the latest start, of those that are certainly of this hold."""
    last, end = None, -math.inf
    for op in _promises(hold):
        if not hold.is_in_doubt(op) or _returned(op) < end:
            last, end = op, promised.by(op.sent)
    return last


def _doubtful_after(hold: _Hold, last: Op | None) -> list[Op]:
    """The promises that are later, and may be of another hold."""
    return [op for op in _promises(hold) if last is None or op.sent > last.sent]


class _Promised:
    """Until when a lock was promised from some start on, in ns; asked for the starts in their order.

    The ttl of another setter counts from that start on. That of an answered one which may be of
    another hold counts from its own start on, if that is later.
    """

    def __init__(self, hold: _Hold) -> None:
        carry = [op for op in hold.setters if op.ttl is not None]
        is_apart = [hold.is_in_doubt(op) and op.outcome is Outcome.OK for op in carry]
        apart = compress(carry, is_apart)
        self._coming = sorted(((op.sent, op.ttl or 0, _returned(op)) for op in apart), reverse=True)
        ends = (sent + ttl for sent, ttl, _ in self._coming)
        self._first_end = [*accumulate(ends, min, initial=math.inf)]  # of so many that are still coming
        self._open = [(op.ttl or 0, _returned(op)) for op in compress(carry, map(not_, is_apart))]
        heapify(self._open)

    def by(self, start: int) -> float:
        """The earliest end that a setter may have set which had not returned before this start."""
        while self._coming and self._coming[-1][0] <= start:
            _, ttl, returned = self._coming.pop()
            heappush(self._open, (ttl, returned))
        while self._open and self._open[0][1] < start:
            heappop(self._open)
        shortest = self._open[0][0] if self._open else math.inf
        return min(start + shortest, self._first_end[len(self._coming)])


def _returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned
