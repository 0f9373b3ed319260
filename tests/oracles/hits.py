"""Which fault hit which hold, operation by operation: the definition that `checkers.facts.hits` is held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from checkers.facts.leases import ENDS, lease_of
from checkers.history.faults import Fault, client_of, faults_of
from checkers.history.records import WRITES, History, Op, Outcome
from checkers.vocabulary.hazards import Cell, End, Hit, Point, fate_of

CALLS = {*WRITES, "read", "fence"}
POINTS = {**{str(point): point for point in Point}, "list-read": Point.BEFORE_WRITE}


class Slow:
    """A history, asked one operation at a time."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.acquires = [op for op in history.operations if op.f == "acquire"]
        self.grants = [op for op in self.acquires if op.outcome is Outcome.OK]

    def hazards(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for fault in self.counting():
            for hold, whom in self.hit_by(fault):
                point = self.point(hold, whom, fault)
                if point is not None:
                    end = self.end(hold, fault)
                    found[str(Cell(point, end, whom, fate_of(fault.kind, fault.target, end)))] += 1
        return dict(found)

    def counts(self) -> dict[str, int]:
        """How many faults of each kind count, outlived a lease, and how many grants others got meanwhile."""
        counts: Counter[str] = Counter()
        others = set()
        for fault in self.counting():
            counts[fault.words.count or ""] += 1
            outlived = [
                hold
                for hold, whom in self.hit_by(fault)
                if whom is Hit.HOLDER and -math.inf < self.promised_under(hold, fault) < fault.healed
            ]
            counts["pauses_past_lease"] += fault.kind == "pause" and bool(outlived)
            if fault.healed < math.inf:
                others |= {
                    grant.index
                    for hold in outlived
                    for grant in self.later_of_others(hold, fault)
                    if fault.began <= returned(grant)
                }
        counts["grants_to_others"] = len(others)
        return {name: count for name, count in counts.items() if count and name}

    def counting(self) -> Iterator[Fault]:
        for fault in faults_of(self.history.faults):
            is_observed = fault.healed < math.inf or fault.is_death
            if is_observed and (
                not self.is_of_client(fault) or list(self.hit_by(fault)) or self.waits(fault)
            ):
                yield fault

    def is_of_client(self, fault: Fault) -> bool:
        is_of_server = fault.target.split(":")[0] in {"lock", "storage"}
        return fault.client is not None or (fault.owner is not None and not is_of_server)

    def hit_by(self, fault: Fault) -> Iterator[tuple[Op, Hit]]:
        """Each hold once: of the acquires of a re-entrant one, the last that had begun, or else the first."""
        found = list(self.acquires_hit_by(fault))
        for acquire, whom in found:
            same = [other for other, _ in found if other is acquire or self.are_one_hold(other, acquire)]
            begun = [other for other in same if began(other) <= fault.began]
            if acquire is (max(begun, key=began) if begun else min(same, key=began)):
                yield acquire, whom

    def are_one_hold(self, one: Op, other: Op) -> bool:
        are_granted = one in self.grants and other in self.grants
        same = (one.resource, one.owner, one.token) == (other.resource, other.owner, other.token)
        return are_granted and same and one.token is not None and one.owner is not None

    def acquires_hit_by(self, fault: Fault) -> Iterator[tuple[Op, Hit]]:
        if not self.is_of_client(fault):
            side = fault.target.split(":")[0]
            for hold in self.grants:
                if (
                    side in {"lock", "storage"}
                    and began(hold) <= fault.began
                    and self.is_held(hold, fault.began)
                ):
                    yield hold, Hit(side)
            return
        for hold in self.acquires:
            in_time = hold.sent <= fault.healed and self.is_held(hold, fault.began)
            if in_time and self.is_meant(hold, fault) and (hold in self.grants or is_named(fault)):
                yield hold, Hit.HOLDER
        begun = [op for op in self.waits(fault) if op.called <= fault.began]
        if fault.owner is None and begun:
            for hold in self.grants:
                is_given = hold.resource == begun[-1].resource and began(hold) <= fault.began
                if is_given and hold not in begun and self.is_held(hold, fault.began):
                    yield hold, Hit.WAITER

    def is_meant(self, hold: Op, fault: Fault) -> bool:
        if is_named(fault):
            return hold.owner == fault.owner and fault.resource in {None, hold.resource}
        return fault.client is not None and self.client(hold) == fault.client

    def waits(self, fault: Fault) -> list[Op]:
        return [
            op
            for op in self.acquires
            if fault.client is not None
            and self.client(op) == fault.client
            and op.called <= fault.healed
            and learned(op) > fault.began
            and not (op in self.grants and began(op) <= fault.began)
        ]

    def is_held(self, hold: Op, moment: int) -> bool:
        own = self.of_lock(hold)
        if hold not in self.grants:
            ended = any(op.f in ENDS and hold.called <= op.called <= moment for op in own)
            return is_open(hold, moment) and not ended
        released = [op.called for op in own if op.f in ENDS and not returned(op) < hold.called]
        superseded = [
            returned(op)
            for op in self.grants
            if op.resource == hold.resource and op.owner != hold.owner and is_later(op, hold, returned(hold))
        ]
        lease = lease_of(hold, own)
        promised = math.inf if lease.set_by is None else lease.end
        return moment < min([*released, *superseded, promised])

    def later_of_others(self, hold: Op, fault: Fault) -> list[Op]:
        if hold not in self.grants:
            return [
                op
                for op in self.grants
                if op.resource == hold.resource
                and self.client(op) != self.client(hold)
                and fault.began <= returned(op) <= fault.healed
            ]
        granted_by = returned(hold) if fault.owner is None else min(returned(hold), fault.began)
        return [
            op
            for op in self.grants
            if op.resource == hold.resource
            and self.client(op) != self.client(hold)
            and min(began(hold), granted_by) <= returned(op) <= fault.healed
            and (token_above(op, hold) or op.sent > granted_by)
        ]

    def promised_under(self, hold: Op, fault: Fault) -> float:
        if hold not in self.grants:
            return -math.inf
        known = [
            op
            for op in self.of_lock(hold)
            if op is hold or (op.f not in ENDS and (op.called <= fault.began or returned(op) <= fault.healed))
        ]
        return lease_of(hold, known).end

    def end(self, hold: Op, fault: Fault) -> End:
        later = self.later_of_others(hold, fault)
        for successor in later:
            for op in self.section(successor):
                if op.f in WRITES and op.outcome is Outcome.OK and returned(op) <= fault.healed:
                    return End.SUPERSEDED
        if later:
            return End.REGRANTED
        lease = self.promised_under(hold, fault)
        if lease == -math.inf:
            ttl = self.history.header.ttl
            lease = math.inf if ttl is None else fault.began + ttl
        return End.EXPIRED if lease < fault.healed else End.BEFORE_EXPIRY

    def point(self, hold: Op, whom: Hit, fault: Fault) -> Point | None:
        moment = fault.began
        if whom is Hit.HOLDER and fault.at in POINTS:
            return POINTS[fault.at]
        if began(hold) > moment:
            return None
        renewals = [op for op in self.of_lock(hold) if op.f == "renew" and is_open(op, moment)]
        if learned(hold) > moment:
            return Point.RENEWING if any(op.called >= began(hold) for op in renewals) else Point.GRANTED
        if renewals:
            return Point.RENEWING
        section = list(self.section(hold))
        if any(op.f in WRITES and is_open(op, moment) for op in section):
            return Point.WRITE_SENT
        following = [op for op in section if op.f in CALLS and op.called > moment]
        if following and following[0].f in WRITES:
            return Point.BEFORE_WRITE
        wrote = any(op.f in WRITES and op.called <= moment for op in section)
        return Point.BEFORE_RELEASE if wrote else Point.ACQUIRED

    def section(self, hold: Op) -> Iterator[Op]:
        """What the client of a hold did on its resource after it, until its next acquire."""
        for op in self.history.operations[hold.index + 1 :]:
            if self.client(op) == self.client(hold):
                if op.f == "acquire":
                    return
                if op.resource == hold.resource:
                    yield op

    def of_lock(self, hold: Op) -> list[Op]:
        asked = {"acquire", "renew", *ENDS}
        lock = (hold.resource, hold.owner)
        return [op for op in self.history.operations if op.f in asked and (op.resource, op.owner) == lock]

    def client(self, op: Op) -> int:
        return client_of(op.process, self.history.header)


def is_later(op: Op, hold: Op, granted_by: float) -> bool:
    return op.sent > granted_by or (token_above(op, hold) and returned(op) >= hold.sent)


def token_above(op: Op, hold: Op) -> bool:
    return hold.token is not None and op.token is not None and op.token > hold.token


def is_open(op: Op, moment: int) -> bool:
    return op.called <= moment < learned(op)


def learned(op: Op) -> float:
    return returned(op) if op.learned is None else op.learned


def returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned


def began(grant: Op) -> float:
    return returned(grant) if grant.attempt is None else grant.attempt


def is_named(fault: Fault) -> bool:
    """Does the nemesis name the hold? A partition cuts off whatever the client holds."""
    return fault.owner is not None and fault.kind != "partition"
