"""Leases: until when was a grant promised? And beliefs: until when did its owner rely on it?

A re-entrant owner may acquire again without a release in between; if it gets the same token, that is
the same hold. A hold's *setters* are its acquires, and the renews of its owner that did not fail and
had returned before any other acquire of the owner that did not fail was called. So a renew that may
belong to the owner's next hold sets nothing. If another acquire of the owner was still unanswered when
the hold's own was called, no renew sets anything. Renews of an earlier hold do not count for this one,
but a session may have been renewed before its owner's first acquire.

T is the latest start of an ok setter that carries a ttl. From T on, the service has seen that setter, or
another setter of the owner (of any hold) that had not returned before T. So the lease is promised until the
earliest `max(T, start) + ttl` of these. The promise ends, whatever the answer, at the call of the owner's
first release or revoke that had not returned before the hold was asked for.

All times are the clients' own. A promise counts from the moment it was asked for, which is
before the service made it, so no server's clock is needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from operator import attrgetter

from checkers.facts.evidence import Evidence
from checkers.history.records import Op, Outcome

ENDS = frozenset({"release", "revoke"})
"""The operations that end a hold, whatever the service answers."""


def granted(operations: Iterable[Op]) -> list[Op]:
    """Return the acquires that got the lock."""
    return [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]


def by_owner(operations: Iterable[Op]) -> dict[str | None, list[Op]]:
    """Return the operations of each owner, in their order."""
    own: dict[str | None, list[Op]] = defaultdict(list)
    for op in operations:
        own[op.owner].append(op)
    return own


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A grant, and until when the service promised its hold."""

    grant: Op
    end: float  # ns; -infinity if nothing was promised
    given_up: float  # ns; when its owner first called a release or revoke of it; infinity if never
    set_by: Op | None  # the setter that the promise counts from
    hold: int  # the index of the first grant of its hold

    @property
    def returned(self) -> float:
        """When the grant returned, in ns."""
        return self.grant.over


def promises(evidence: Evidence) -> Iterator[list[Lease]]:
    """Yield the leases of all grants, resource by resource."""
    for _, operations in sorted(evidence.by_resource("acquire", "renew", *ENDS).items()):
        found = (lease for each in by_owner(operations).values() for lease in leases_of(each))
        yield sorted(found, key=lambda lease: lease.grant.index)


def lease_of(grant: Op, own: Iterable[Op]) -> Lease:
    """Return the lease of one grant; `own` is what its owner did with the lock, by call."""
    return next(lease for lease in leases_of(own) if lease.grant.index == grant.index)


def leases_of(own: Iterable[Op]) -> list[Lease]:
    """Return the leases of an owner's grants, by call; `own` is what it did with one lock, by call."""
    own = list(own)
    renews = _Renews(own)
    set_last = [(hold, renews.last_promise(hold)) for hold in _holds(own)]
    promised = _promised_from(own, {setter.sent for _, setter in set_last if setter is not None})
    ends = deque(op for op in own if op.f in ENDS)
    leases = []
    for hold, setter in set_last:
        while ends and ends[0].precedes(hold.acquires[0]):
            ends.popleft()
        given_up = ends[0].called if ends else math.inf
        end = -math.inf if setter is None else min(promised[setter.sent], given_up)
        first = hold.acquires[0].index
        leases += [
            Lease(grant=grant, end=end, given_up=given_up, set_by=setter, hold=first)
            for grant in hold.acquires
        ]
    return sorted(leases, key=lambda lease: lease.grant.index)


@dataclass(frozen=True, slots=True)
class _Hold:
    """The acquires of one hold, and the limits between which a renew certainly belongs to it."""

    acquires: list[Op]
    since: float  # ns; renews called earlier belong to an earlier hold
    other: float  # ns; the call of the first other acquire; -infinity if one was still unanswered


def _holds(own: Sequence[Op]) -> list[_Hold]:
    """Return the holds of an owner, by the call of their first acquire."""
    asked = [op for op in own if op.f == "acquire" and op.outcome is not Outcome.FAIL]
    ended = [op.called for op in own if op.f in ENDS and op.outcome is Outcome.OK]
    number: dict[int, int] = {}  # of each grant's hold, by the grant's index
    of_token: dict[int, Op] = {}  # the last grant with each token
    for op in granted(asked):
        same = None if op.token is None else of_token.get(op.token)
        if same is None or bisect_left(ended, op.called) > bisect_right(ended, same.called):
            number[op.index] = op.index
        else:
            number[op.index] = number[same.index]
        if op.token is not None:
            of_token[op.token] = op
    acquires: dict[int, list[Op]] = defaultdict(list)
    for op in granted(asked):
        acquires[number[op.index]].append(op)
    reached = [*accumulate((op.over for op in asked), max, initial=-math.inf)]  # before each acquire
    return [
        _Hold(grants, op.called if place else -math.inf, _other_call(asked, reached, place, number))
        for place, op in enumerate(asked)
        if (grants := acquires.get(op.index)) is not None
    ]


def _other_call(asked: Sequence[Op], reached: Sequence[float], place: int, number: dict[int, int]) -> float:
    """Return the call of the next hold's first acquire; -infinity if an earlier one was still unanswered."""
    own = asked[place]
    if reached[place] >= own.called:
        return -math.inf
    later = (asked[after] for after in range(place + 1, len(asked)))
    return next((op.called for op in later if number.get(op.index) != own.index), math.inf)


class _Renews:
    """An owner's renews that were answered ok and carry a ttl."""

    def __init__(self, own: Sequence[Op]) -> None:
        renews = (op for op in own if op.f == "renew" and op.outcome is Outcome.OK and op.ttl is not None)
        by_return = sorted(renews, key=attrgetter("over"))
        self._returned = [op.over for op in by_return]
        self._latest = [*accumulate(by_return, _later)]

    def last_promise(self, hold: _Hold) -> Op | None:
        """Return the ok setter of a hold that carries a ttl and has the latest start."""
        place = bisect_left(self._returned, hold.other)
        renewed = self._latest[place - 1 : place]  # the first place is after none
        setters = [op for op in hold.acquires if op.ttl is not None]
        setters += [op for op in renewed if op.called >= hold.since]
        return max(setters, key=lambda op: op.sent, default=None)


def _later(one: Op, other: Op) -> Op:
    return max(one, other, key=attrgetter("sent"))


def _promised_from(own: Sequence[Op], starts: Iterable[int]) -> dict[int, int]:
    """Return, for each start (ns), the earliest end promised by setters that had not returned before it.

    Each start is that of one of these setters, so at least one has begun by then and has not returned.
    """
    setters = [op for op in own if op.f in ("acquire", "renew") and op.outcome is not Outcome.FAIL]
    coming = sorted(((op.sent, op.ttl, op.over) for op in setters if op.ttl is not None), reverse=True)
    first_end = [*accumulate((sent + ttl for sent, ttl, _ in coming), min)]  # of each, and all sent later
    begun: list[tuple[int, float]] = []  # ttl and return
    found = {}
    for start in sorted(starts):
        while coming and coming[-1][0] <= start:
            _, ttl, returned = coming.pop()
            heappush(begun, (ttl, returned))
        while begun[0][1] < start:
            heappop(begun)
        found[start] = min(start + begun[0][0], first_end[len(coming)])  # the last one that began is in both
    return found


class Beliefs:
    """When the owner of some operations stopped believing that it held a grant."""

    def __init__(self, operations: Iterable[Op]) -> None:
        operations = list(operations)
        given_back = sorted((op.over, op.called) for op in operations if op.f in ENDS)
        self._given_back = [returned for returned, _ in given_back]
        called = (called for _, called in reversed(given_back))
        self._first_call = [*accumulate(called, min, initial=math.inf)][::-1]  # from each place on
        refused = (op for op in operations if op.f == "renew" and op.outcome is Outcome.FAIL)
        self._lost = sorted(op.over for op in refused)

    def end(self, grant: Op) -> float:
        """Return when the owner stopped believing that it held this grant; infinity if it never did."""
        given_back = self._first_call[bisect_left(self._given_back, grant.called)]
        lost = bisect_left(self._lost, grant.called)
        refused = max(self._lost[lost], grant.returned or 0) if lost < len(self._lost) else math.inf
        return min(given_back, refused)
