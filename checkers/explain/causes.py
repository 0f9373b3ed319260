"""Causes of findings: decided once, on the whole history, and shown by every output.

A write that came too late
    The first fault that hit its hold and was in force when the promised lease ended, or that delayed a
    renewal due before that, if the lease ended before the write returned. Without a promise, the lease counts
    as ended when another owner's later grant returned. The cause is certain if another owner's grant returned
    between that end and the write's return. Else a restart of the storage between the two writes.
An early grant
    A failover of the lock service with two primaries, if each of the two clients reached another one. Else a
    release or renewal that was answered ok, of an owner that had lost the lock; certain if that was so
    when it was called, and nothing else can have freed the lock. Else a fault of the lock service between
    the two grants; else, if only tokens say which grant was later, one that stopped its client between its
    grant and its token.
A loss, or a write that was acknowledged and never stored
    The restart of the storage after which the value was gone. Else, of a write that its log lacks, what made
    it late, as above; never certain, since that does not explain why the storage said ok.
Two grants whose tokens do not rise
    A fault of the lock service that was in force between their returns, preferably one that was also in
    force while the later grant was asked for. Else a fault that stopped one of their clients between its
    grant and its token.
Anything else that servers did
    A fault that was in force on them between the first operation of the proof and the last.

A fault that hit only the wronged client, or that began later, explains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import numpy as np

from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause
from checkers.facts.late_calls import late_calls_of
from checkers.facts.leases import ENDS
from checkers.history.columns import OK, RENEW, in_ns
from checkers.history.faults import Fault, client_of
from checkers.history.records import Op, Outcome
from checkers.vocabulary.hazards import Hit

_MOST_LATE_CALLS = 100  # the most that are examined


def of_late_write(n: Narrator, write: Op, newer: Op | None = None) -> Cause | None:
    """Return why a write came too late; `newer` is the write it came after."""
    grant = n.grant_behind(write)
    held = None if grant is None else _of_hold(n, grant, write)
    if held is not None or newer is None:
        return held
    return of_restart(n, newer, write)


def of_late_writes(n: Narrator, writes: Iterable[Op]) -> Cause | None:
    """Return why one of several writes came too late: the first certain cause, or else the first."""
    causes = [cause for write in writes if (cause := of_late_write(n, write)) is not None]
    return min(causes, key=lambda cause: not cause.certain, default=None)


def of_unlogged_write(n: Narrator, write: Op) -> Cause | None:
    """Return why the storage's own order may lack a write that had been there, or was acknowledged."""
    late = of_late_write(n, write)
    return of_restart(n, write, None) or (None if late is None else replace(late, certain=False))


def of_restart(n: Narrator, first: Op, then: Op | None) -> Cause | None:
    """Return the restart of the storage between two operations."""
    fault = n.restart(first, then)
    return None if fault is None else Cause(fault=fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsBetween:
    """Calls on a lock, between two grants, by owners that had lost it."""

    answered: tuple[Op, ...]  # ok, before the second grant returned: the releases, or else the renewals
    others: tuple[Op, ...]  # other calls that may have had an effect by then

    @classmethod
    def between(cls, n: Narrator, holder: Op, grant: Op) -> Self:
        """Find the late calls, the last one first; if there are very many, only the last."""
        found = [*islice(late_calls_of(n.evidence).between(holder, grant), _MOST_LATE_CALLS)]
        granted = grant.returned or 0
        in_time = (op for op in found if op.outcome is Outcome.OK and (op.returned or 0) <= granted)
        answered = [op for op in in_time if late_calls_of(n.evidence).had_lost(op, holder)]
        chosen = [op for op in answered if op.f in ENDS] or answered
        return cls(answered=tuple(chosen), others=tuple(op for op in found if op not in chosen))


def of_early_grant(n: Narrator, holder: Op, grant: Op, late: CallsBetween) -> Cause | None:
    """Return why a lock was granted while it was held."""
    if (fault := _between_primaries(n, holder, grant)) is not None:
        return Cause(fault=fault)
    fault = n.fault_on("lock", holder.sent, grant.returned or 0)
    if late.answered:
        is_alone = len(late.answered) == 1 and not late.others and fault is None
        is_alone = is_alone and (holder.returned or 0) < grant.sent  # else the tokens may be wrong
        is_alone = is_alone and late_calls_of(n.evidence).came_too_late(late.answered[0])
        is_alone = is_alone and not _may_have_lapsed(n, holder, grant)
        return Cause(certain=is_alone, operation=late.answered[0])
    if fault is None and (holder.returned or 0) >= grant.sent:  # only the tokens show which came later
        fault = _before_its_token(n, grant)
    return None if fault is None else Cause(fault=fault)


def _between_primaries(n: Narrator, one: Op, other: Op) -> Fault | None:
    """Return the failover after which two grants came from two primaries, neither of which knew the other's.

    The client that was moved was granted the lock after the failover had begun.
    """
    by_client = {client_of(each.process, n.history.header): each for each in (one, other)}
    end = max(one.returned or 0, other.returned or 0)
    for fault in n.faults_on("lock", min(one.sent, other.sent), end):
        moved = [grant for client, grant in by_client.items() if client not in fault.left_behind]
        if len(moved) < len(by_client) and any(_came_during(fault, grant) for grant in moved):
            return fault
    return None


def _came_during(fault: Fault, grant: Op) -> bool:
    returned = grant.returned or 0
    return fault.overlaps(returned, returned)


def _may_have_lapsed(n: Narrator, holder: Op, grant: Op) -> bool:
    """Had every lease that the service had confirmed by then ended when a grant returned?"""
    granted = grant.returned or 0
    setters = (holder, *n.own(holder, holder.sent, granted, "renew"))
    answered = (op for op in setters if op.outcome is Outcome.OK and op.over <= granted)
    return max((op.sent + op.ttl for op in answered if op.ttl is not None), default=0) < granted


def of_servers(n: Narrator, side: str, proof: Iterable[Op]) -> Cause | None:
    """Return the fault on the lock service or the storage during the operations of a proof."""
    operations = [*proof]
    grants = [grant for op in operations if (grant := n.grant_behind(op)) is not None]
    first = min((op.sent for op in (*operations, *grants)), default=0)
    last = max((op.over for op in operations), default=0)
    fault = n.fault_on(side, first, last)
    return None if fault is None else Cause(fault=fault)


def of_two_grants(n: Narrator, one: Op, other: Op) -> Cause | None:
    """Return the fault because of which the later of two grants got no higher token."""
    older, newer = sorted((one, other), key=lambda grant: grant.returned or 0)
    since, end = older.returned or 0, newer.returned or 0
    fault = n.fault_on("lock", max(since, newer.sent), end) or n.fault_on("lock", since, end)
    fault = fault or _before_its_token(n, older, newer)
    return None if fault is None else Cause(fault=fault)


def _before_its_token(n: Narrator, *grants: Op) -> Fault | None:
    """Return the first fault that stopped the client of a grant before it had its token.

    It may have begun after the promised end of the lease, and so hit no hold: a client that does not know
    when its request was granted waits, and its promise counts from the call.
    """
    found = (fault for grant in grants for fault in n.grant_stops.of(grant))
    return min(found, key=lambda each: each.began, default=None)


def of_call(n: Narrator, op: Op) -> Cause | None:
    """Return the fault that hit an operation's hold, or the storage, while it was in flight."""
    grant = n.grant_behind(op)
    end = math.inf if op.returned is None and op.learned is None else max(op.returned or 0, op.learned or 0)
    on_hold = () if grant is None else _faults_on(n, grant)
    held = next((fault for fault in on_hold if fault.overlaps(op.called, end)), None)
    fault = held or n.fault_on("storage", op.called, end)
    return None if fault is None else Cause(fault=fault)


def meanwhile(n: Narrator, cause: Cause | None, write: Op) -> list[Fault]:
    """Return other faults on the holder of a late write, or on the lock service, when its lease ended."""
    grant = n.grant_behind(write)
    if cause is None or cause.fault is None or cause.fault.client is None or grant is None:
        return []
    end = _end(n, grant)
    if math.isinf(end):
        return []
    on_hold = [fault for fault in _faults_on(n, grant) if fault.overlaps(end, end)]
    return sorted({*on_hold, *n.faults_on("lock", end, end)} - {cause.fault}, key=lambda fault: fault.began)


def _of_hold(n: Narrator, grant: Op, write: Op) -> Cause | None:
    """Return the fault that made a hold end before one of its writes returned."""
    end = _end(n, grant)
    if end >= write.over:
        return None
    holding_up = [fault for fault in _faults_on(n, grant) if _explains(n, fault, grant, end)]
    if not holding_up:
        return None
    holds = n.holds
    row = holds.operations.row(grant)
    later = holds.granted_between(int(holds.columns.resource[row]), int(end), in_ns(write.over))
    is_taken = bool(np.any(holds.columns.owner[later] != holds.columns.owner[row]))
    return Cause(certain=is_taken, fault=min(holding_up, key=lambda fault: fault.began))


def _explains(n: Narrator, fault: Fault, grant: Op, end: float) -> bool:
    """Was a fault in force when a hold was lost, or did it delay a renewal until then?"""
    if fault.overlaps(end, end):
        return True
    holds = n.holds
    own = holds.of_lock(holds.operations.row(grant))
    columns = holds.columns
    late = (columns.outcome[own] != OK) | (columns.returned[own] > end)
    renewals = own[(columns.f[own] == RENEW) & (columns.called[own] <= end) & late]
    return fault.began <= end and any(
        fault.overlaps(int(columns.called[row]), min(end, float(holds.learned[row]))) for row in renewals
    )


def _end(n: Narrator, grant: Op) -> float:
    """Return when a hold's promised lease ended; without a promise, when the hold was superseded."""
    row = n.holds.operations.row(grant)
    lease = n.holds.lease(row)
    return n.holds.superseded_at(row) if lease.set_by is None else lease.end


def _faults_on(n: Narrator, grant: Op) -> Iterator[Fault]:
    row = n.holds.operations.row(grant)
    return (fault for fault, whom in n.hits.get(row, ()) if whom is Hit.HOLDER)
