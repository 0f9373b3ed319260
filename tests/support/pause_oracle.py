"""Whom pauses stopped, operation by operation: what `checkers.verdict.coverage` counts on columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from checkers.facts.leases import ENDS, lease_of
from checkers.history.faults import Fault, faults_of, is_client
from checkers.history.records import History, Op, Outcome


def counts_of_pauses(history: History) -> tuple[int, int]:
    """The pauses that outlasted a lease, and the grants to others meanwhile."""
    grants = [op for op in history.operations if op.f == "acquire" and op.outcome is Outcome.OK]
    past_lease = 0
    others: set[int] = set()
    for pause in faults_of(history.faults):
        hold = hold_hit(pause, history, grants)
        if pause.kind != "pause" or pause.healed == math.inf or hold is None:
            continue
        own = list(_of_owner(hold, history.operations))
        if pause.owner is None and _was_over(hold, pause, own):
            continue
        past_lease += _promised_end(hold, own, pause) < pause.healed
        others |= {grant.index for grant in grants if _is_meanwhile(grant, hold, pause)}
    return past_lease, len(others)


def hold_hit(pause: Fault, history: History, grants: Iterable[Op]) -> Op | None:
    """The grant of the holder that a pause stopped; None if it stopped no holder."""
    named = [grant for grant in grants if _is_by(grant, pause, history)]
    held = [grant for grant in named if _was_sent(grant, pause.began)]
    if not held and pause.owner is not None:
        held = [grant for grant in named if grant.called <= pause.began]
    return max(held, key=lambda grant: grant.called, default=None)


def _is_by(grant: Op, pause: Fault, history: History) -> bool:
    if pause.owner is not None:
        return grant.owner == pause.owner and pause.resource in {None, grant.resource}
    return pause.client is not None and is_client(grant.process, pause.client, history.header)


def _was_sent(grant: Op, moment: int) -> bool:
    by_answer = grant.returned is not None and grant.returned <= moment
    return by_answer or (grant.attempt is not None and grant.attempt <= moment)


def _of_owner(hold: Op, operations: Iterable[Op]) -> Iterator[Op]:
    asked = {"acquire", "renew", *ENDS}
    return (op for op in operations if op.f in asked and _lock(op) == _lock(hold))


def _lock(op: Op) -> tuple[str, str | None]:
    return op.resource, op.owner


def _was_over(hold: Op, pause: Fault, own: Iterable[Op]) -> bool:
    return any(op.f in ENDS and hold.called <= op.called <= pause.began for op in own)


def _promised_end(hold: Op, own: Iterable[Op], pause: Fault) -> float:
    lease = lease_of(hold, (op for op in own if op.f not in ENDS and op.called <= pause.began))
    return math.inf if lease.set_by is None else lease.end


def _is_meanwhile(grant: Op, hold: Op, pause: Fault) -> bool:
    is_other = grant.resource == hold.resource and grant.owner != hold.owner
    if hold.returned is not None and hold.returned <= pause.began:  # its token tells which came first
        was_before = None not in {grant.token, hold.token} and grant.token <= hold.token
        if was_before and (grant.attempt is None or grant.attempt <= hold.returned):
            return False
    return is_other and grant.returned is not None and pause.began <= grant.returned <= pause.healed
