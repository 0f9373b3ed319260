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
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

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
    ends = deque(op for op in own if op.f in ENDS)
    lingering: list[Op] = []  # setters of earlier holds that may take effect during this one
    for place, hold in enumerate(holds):
        while ends and ends[0].precedes(hold.acquire):
            ends.popleft()
        lingering = [op for op in lingering if not op.precedes(hold.acquire)]
        if hold.acquire.outcome is Outcome.OK:
            given_up = ends[0].called if ends else math.inf
            last = _last_promise(hold)
            if last is None:
                yield Lease(grant=hold.acquire, end=-math.inf, set_by=None)
            certain = [] if last is None else [last]
            for setter in (*certain, *_doubtful_after(hold, last)):
                later = _setters(holds, place + 1)
                yield _lease(hold, setter, given_up, lingering, later, is_doubtful=setter is not last)
        lingering += hold.setters


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


def _setters(holds: Sequence[_Hold], first: int) -> Iterator[Op]:
    """The setters of the holds from the first one on, by call."""
    for place in range(first, len(holds)):
        yield from holds[place].setters


def _lease(
    hold: _Hold,
    last: Op,
    given_up: float,
    earlier: Iterable[Op],
    later: Iterable[Op],
    *,
    is_doubtful: bool = False,
) -> Lease:
    """The lease of a hold from a setter on, shortened by those of the owner's earlier and later holds."""
    others = (*earlier, hold.acquire) if is_doubtful else earlier
    shortened = partial(_shortened, last, is_doubtful=is_doubtful)
    end = min([_promised_by(hold, last), given_up, *map(shortened, others)])
    for op in later:
        if op.called >= end:
            break
        end = min(end, shortened(op))
    return Lease(grant=hold.acquire, end=end, set_by=last, is_doubtful=is_doubtful)


def _shortened(last: Op, other: Op, *, is_doubtful: bool) -> float:
    """The earliest end of a lease that an operation of another hold may have set after `last`.

    An acquire that does not say which lease it set leaves nothing of a doubtful promise.
    """
    if _returned(other) < last.sent or (other.ttl is None and not (is_doubtful and other.f == "acquire")):
        return math.inf
    return max(last.sent, other.sent) + (other.ttl or 0)


def _promises(hold: _Hold) -> list[Op]:
    """The ok setters that carry a ttl, the first sent first."""
    promises = (op for op in hold.setters if op.outcome is Outcome.OK and op.ttl is not None)
    return sorted(promises, key=lambda op: op.sent)


def _last_promise(hold: _Hold) -> Op | None:
    """The ok setter with the latest start, of those that are certainly of this hold."""
    last = None
    for op in _promises(hold):
        if not hold.is_in_doubt(op) or (last is not None and _returned(op) < _promised_by(hold, last)):
            last = op
    return last


def _doubtful_after(hold: _Hold, last: Op | None) -> list[Op]:
    """The promises that are later, and may be of another hold."""
    return [op for op in _promises(hold) if last is None or op.sent > last.sent]


def _promised_by(hold: _Hold, last: Op) -> float:
    """Until when the lock was promised from the start of this setter on, in ns."""
    setters = [op for op in hold.setters if _returned(op) >= last.sent]
    return min(_start(hold, last, op) + op.ttl for op in setters if op.ttl is not None)


def _start(hold: _Hold, last: Op, other: Op) -> int:
    """From when on the ttl of another setter counts at the earliest, whichever hold that one is of."""
    is_later = hold.is_in_doubt(other) and other.outcome is Outcome.OK
    return max(last.sent, other.sent) if is_later else last.sent


def _returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned
