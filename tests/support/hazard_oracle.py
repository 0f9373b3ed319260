"""The hazards that faults hit, operation by operation: what `checkers.facts.hazard_hits` finds on columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from checkers.facts.leases import ENDS, lease_of
from checkers.history.faults import Fault, client_of, faults_of
from checkers.history.records import WRITES, History, Op, Outcome
from checkers.vocabulary.hazards import Cell, End, Hit, Point, fate_of

CALLS = {*WRITES, "read", "fence"}


def hazards_one_by_one(history: History) -> dict[str, int]:
    found: Counter[str] = Counter()
    for fault in faults_of(history.faults):
        if fault.healed == math.inf and not (fault.kind == "kill" and fault.client is not None):
            continue
        for hold, hit in holds_hit(fault, history):
            end = end_of(hold, fault, history)
            point = point_of(hold, fault.began, history)
            if hit is Hit.HOLDER and fault.at in set(Point):
                point = Point(fault.at)
            if hit is Hit.HOLDER and fault.at == "list-read":
                point = Point.BEFORE_WRITE
            found[str(Cell(point, end, hit, fate_of(fault.kind, fault.target, end)))] += 1
    return dict(found)


def holds_hit(fault: Fault, history: History) -> Iterator[tuple[Op, Hit]]:
    acquires = [op for op in history.operations if op.f == "acquire" and op.called <= fault.began]
    if fault.owner is not None:
        named = [op for op in acquires if op.owner == fault.owner and fault.resource in {None, op.resource}]
        if named and not has_ended(named[-1], fault.began, history):
            yield named[-1], Hit.HOLDER
    elif fault.client is not None:
        own = [op for op in acquires if client_of(op.process, history.header) == fault.client]
        if own:
            yield from hit_by_acquire(own[-1], fault.began, history)
    elif fault.target.split(":")[0] in {"lock", "storage"}:
        for resource in sorted({op.resource for op in history.operations}):
            for hold in current(resource, fault.began, history):
                yield hold, Hit(fault.target.split(":")[0])


def hit_by_acquire(last: Op, moment: int, history: History) -> Iterator[tuple[Op, Hit]]:
    """The hold of a client by its last acquire, or the hold for which it waits."""
    if last.outcome is Outcome.OK and began(last) <= moment:
        if not has_ended(last, moment, history):
            yield last, Hit.HOLDER
    elif answered(last) > moment:
        for hold in current(last.resource, moment, history):
            if hold is not last:
                yield hold, Hit.WAITER


def current(resource: str, moment: int, history: History) -> Sequence[Op]:
    """The latest hold of a resource, if it is in progress; of those that began at once, the last called."""
    grants = [
        op
        for op in history.operations
        if (op.f, op.outcome, op.resource) == ("acquire", Outcome.OK, resource) and began(op) <= moment
    ]
    latest = max(grants, key=lambda op: (began(op), op.index), default=None)
    return [] if latest is None or has_ended(latest, moment, history) else [latest]


def point_of(hold: Op, moment: int, history: History) -> Point:
    renewals = [op for op in of_lock(hold, history) if op.f == "renew" and is_open(op, moment)]
    if answered(hold) > moment:
        sent = math.inf if hold.attempt is None else hold.attempt
        return Point.RENEWING if any(op.called >= sent for op in renewals) else Point.GRANTED
    if renewals:
        return Point.RENEWING
    section = list(section_of(hold, history))
    if any(op.f in WRITES and is_open(op, moment) for op in section):
        return Point.WRITE_SENT
    following = [op for op in section if op.f in CALLS and op.called > moment]
    if following and following[0].f in WRITES:
        return Point.BEFORE_WRITE
    wrote = any(op.f in WRITES and op.called <= moment for op in section)
    return Point.BEFORE_RELEASE if wrote else Point.ACQUIRED


def end_of(hold: Op, fault: Fault, history: History) -> End:
    later = [
        op
        for op in history.operations
        if (op.f, op.outcome, op.resource) == ("acquire", Outcome.OK, hold.resource)
        and op.owner != hold.owner
        and op.returned is not None
        and op.returned <= fault.healed
        and is_later(op, hold, fault)
    ]
    for successor in later:
        for op in section_of(successor, history):
            if op.f in WRITES and op.outcome is Outcome.OK and op.returned <= fault.healed:
                return End.SUPERSEDED
    if later:
        return End.REGRANTED
    lease = -math.inf
    if hold.outcome is Outcome.OK:
        own = [
            op
            for op in of_lock(hold, history)
            if op is hold or (op.f == "renew" and op.returned is not None and op.returned <= fault.healed)
        ]
        lease = lease_of(hold, own).end
    if lease == -math.inf:
        lease = math.inf if history.header.ttl is None else fault.began + history.header.ttl
    return End.EXPIRED if lease < fault.healed else End.BEFORE_EXPIRY


def is_later(op: Op, hold: Op, fault: Fault) -> bool:
    if hold.outcome is not Outcome.OK:
        return op.returned >= fault.began
    stopped = fault.at is not None and fault.owner is not None
    granted_by = fault.began if stopped else answered(hold)
    if op.returned < min(began(hold), granted_by):
        return False
    higher = hold.token is not None and op.token is not None and op.token > hold.token
    return higher or op.sent > granted_by


def section_of(hold: Op, history: History) -> Iterator[Op]:
    """What the client of a hold did on its resource after it, until its next acquire."""
    for op in history.operations[hold.index + 1 :]:
        if client_of(op.process, history.header) == client_of(hold.process, history.header):
            if op.f == "acquire":
                return
            if op.resource == hold.resource:
                yield op


def of_lock(hold: Op, history: History) -> Iterable[Op]:
    return [op for op in history.operations if (op.resource, op.owner) == (hold.resource, hold.owner)]


def has_ended(hold: Op, moment: int, history: History) -> bool:
    return any(op.f in ENDS and hold.called <= op.called <= moment for op in of_lock(hold, history))


def is_open(op: Op, moment: int) -> bool:
    return op.called <= moment < answered(op)


def answered(op: Op) -> float:
    if op.learned is not None:
        return op.learned
    return math.inf if op.returned is None else op.returned


def began(grant: Op) -> int:
    moment = grant.returned if grant.attempt is None else grant.attempt
    assert moment is not None
    return moment
