"""Hindrances: what kept the faults of a run from testing more, and what to change."""

from __future__ import annotations

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.facts.hits import HoldHit, hits_of
from checkers.facts.holds import holds_of
from checkers.history.columns import ABSENT, ACQUIRE, OK, Ints
from checkers.history.faults import Fault, faults_of
from checkers.history.ranks import distinct
from checkers.text.limits import SHORTEST_LEASE, brief
from checkers.vocabulary.hazards import End, Hit

_FAR = 10  # a lease that is shorter than the target's ttl by this factor is in another unit


def hindrance_of(evidence: Evidence) -> str | None:
    """Return what to change, as far as the history shows; None if it shows no hindrance."""
    return _short_lease(evidence) or _kept_lease(evidence)


def _short_lease(evidence: Evidence) -> str | None:
    """Say that every lease was too short for a fault to count, if none was counted."""
    if unit := lease_in_another_unit(evidence):
        return ": ".join(unit)
    lease = _longest_lease(evidence)
    if lease is None or lease >= SHORTEST_LEASE or _any_counts(evidence):
        return None
    remedy = f"set lock.ttl to {brief(SHORTEST_LEASE)} or more"
    return f"the lease of {brief(lease)} is over before any fault begins: {remedy}"


def lease_in_another_unit(evidence: Evidence) -> tuple[str, str] | None:
    """Say that every lease is far too short for the target's ttl, and what to check.

    None if one is not, or if a fault was counted all the same.
    """
    ttl, lease = evidence.history.header.ttl, _longest_lease(evidence)
    if ttl is None or lease is None or lease >= SHORTEST_LEASE or lease * _FAR > ttl or _any_counts(evidence):
        return None
    return (
        f"grants promise a lease of {brief(lease)}, but lock.ttl is {brief(ttl)}",
        "check its unit (ns in Grant.ttl, ms in ttl_ms of a program)",
    )


def _any_counts(evidence: Evidence) -> bool:
    return any(each.counts for each in hits_of(evidence))


def _longest_lease(evidence: Evidence) -> int | None:
    """Return the longest promise (ns) of a grant, or else the target's; None without either."""
    columns = in_columns(evidence).columns
    promised = columns.ttl[(columns.f == ACQUIRE) & (columns.outcome == OK)]
    longest = int(promised.max(initial=ABSENT))
    if not len(promised):
        return None
    return evidence.history.header.ttl if longest == ABSENT else longest


def _kept_lease(evidence: Evidence) -> str | None:
    """Say that no client got a paused client's lock for a whole TTL after its lease, if one asked.

    Requests count only if no server was under a fault, and their client was under none.
    """
    ttl = evidence.history.header.ttl
    if not ttl:
        return None
    paused = (each for each in hits_of(evidence) if each.counts and each.fault.kind == "pause")
    hits = ((each.fault, hit) for each in paused for hit in each.holds)
    is_kept = any(
        _waited(evidence, fault, hit) >= ttl
        for fault, hit in hits
        if hit.whom is Hit.HOLDER and hit.end is End.EXPIRED and hit.past_lease
    )
    if not is_kept:
        return None
    return (
        f"the lock service seems to keep leases for longer than lock.ttl, {brief(ttl)}: a paused"
        " client's lease was over, another client asked for the lock for a whole ttl, and none got it;"
        " check the unit in which the lease is set"
    )


def _waited(evidence: Evidence, fault: Fault, hit: HoldHit) -> int:
    """Return how long (ns) one other client asked for a lock between the end of its lease and of a pause.

    This is 0 if servers were under a fault meanwhile; clients under a fault themselves do not count.
    """
    holds = holds_of(evidence)
    columns = holds.columns
    healed = int(fault.healed)
    over = int(holds.promised_under(hit.hold, fault.began, healed))
    others = [each.client for each in faults_of(evidence.history.faults) if each.overlaps(over, healed)]
    if None in others:
        return 0
    asked: Ints = np.flatnonzero(
        (columns.f == ACQUIRE)
        & (columns.resource == columns.resource[hit.hold])
        & ~np.isin(holds.client, [each for each in others if each is not None])
    )
    _, client = distinct(holds.client[asked])
    since, until = np.maximum(columns.called[asked], over), np.minimum(holds.learned[asked], healed)
    return int(np.bincount(client, weights=np.maximum(until - since, 0)).max(initial=0))
