"""How many late and stale writes were attempted, and the outcomes of the stale ones: pair by pair."""

from __future__ import annotations

import math

from checkers.facts.evidence import Evidence
from checkers.facts.restarts import restarts_of_storage
from checkers.history.faults import Faults
from checkers.history.records import WRITES, Op, Outcome
from tests.support.object_log import ObjectLog, object_log
from tests.support.operations.late_writes import (
    newest_grants,
    stale_writes,
    superseded_by,
    writes_after_newer,
)
from tests.support.operations.order import orders
from tests.support.operations.registers import Register, registers
from tests.support.operations.rejections import unlogged


def attempts(evidence: Evidence) -> dict[str, int]:
    """As `attempts`."""
    names = ("stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted")
    counts = dict.fromkeys(names, 0)
    grants = newest_grants(evidence)
    counts["late_writes_attempted"] = sum(
        superseded_by(op, grants) is not None for op in evidence.named(*WRITES)
    )
    after_newer, stale = writes_after_newer(evidence), stale_writes(evidence)
    log = object_log(evidence)
    for register in registers(evidence):
        accepted = sum(
            zone.write is not None
            and (
                zone.write.index in after_newer
                or _had_succeeded(register, zone.token, zone.write.called)
                or (zone.write.index in stale and _had_replaced(register, zone.token, zone.claimed))
                or _is_logged_after_higher(log, zone.write)
            )
            for zone in register.written
        )
        acknowledged = (op for op in register.optional if op.outcome is Outcome.OK)
        lost = sum(_had_succeeded(register, op.token or 0, op.called) for op in acknowledged)
        rejected = sum(_may_be_below(evidence, register, op) for op in register.rejected if op.f in WRITES)
        counts["stale_writes_attempted"] += accepted + lost + rejected
        counts["stale_writes_rejected"] += rejected
        counts["stale_writes_accepted"] += accepted
    return counts


def _had_succeeded(register: Register, token: int, moment: float) -> bool:
    """Had a write or fence with a higher token succeeded before a moment?"""
    fences = (op for op in register.fences if op.outcome is Outcome.OK)
    return _had_replaced(register, token, moment) or any(
        (op.token or 0) > token and op.returned is not None and op.returned < moment for op in fences
    )


def _had_replaced(register: Register, token: int, moment: float) -> bool:
    """Had a write with a higher token succeeded before a moment?"""
    return any(zone.token > token and zone.settled < moment for zone in register.written)


def _is_logged_after_higher(log: ObjectLog | None, write: Op) -> bool:
    if log is None:
        return False
    own = [each for each in log.entries if each.commit.resource == write.resource]
    return any(
        late.token is not None and late.sent is write and early.token is not None and early.token > late.token
        for place, late in enumerate(own)
        for early in own[:place]
    )


def _may_be_below(evidence: Evidence, register: Register, rejected: Op) -> bool:
    """May a rejected write have met a higher token?"""
    token = rejected.token or 0
    if object_log(evidence) is None:
        written = (zone.write for zone in register.written if zone.write is not None)
        raising = (*written, *register.optional, *register.fences)
        return any((one.token or 0) > token and not rejected.precedes(one) for one in raising)
    order = orders(evidence)[register.resource]
    restarts = restarts_of_storage(evidence.history.faults)
    may_be_undone = restarts.first_between(rejected.called, math.inf) is not None
    lacked = list(unlogged(register, order, restarts if may_be_undone else Faults([])))
    acknowledged = (fence for fence in register.fences if fence.outcome is Outcome.OK)
    lacked += [fence for fence in acknowledged if (fence.token or 0) <= order.header.initial_token]
    return any(
        each.token is not None
        and each.token > token
        and order.start(place) <= (rejected.returned or 0)
        and not (each.sent is not None and not each.was_sent_elsewhere and rejected.precedes(each.sent))
        for place, each in enumerate(order.entries)
    ) or any((one.token or 0) > token and not rejected.precedes(one) for one in lacked)
