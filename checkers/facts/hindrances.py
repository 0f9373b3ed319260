"""Hindrances: what kept the faults of a run from testing more, as far as its history shows."""

from __future__ import annotations

from collections import Counter

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.facts.hits import HoldHit, hits_of
from checkers.facts.holds import holds_of
from checkers.history.columns import ABSENT, ACQUIRE, OK, Ints
from checkers.history.faults import Fault, faults_of
from checkers.vocabulary.hazards import End, Hit
from checkers.vocabulary.hindrances import SHORTEST_LEASE, KeptLease, ShortLease


def hindrance_of(evidence: Evidence) -> ShortLease | KeptLease | None:
    """Return the hindrance that the history shows, if any."""
    return _short_lease(evidence) or _kept_lease(evidence)


def _short_lease(evidence: Evidence) -> ShortLease | None:
    """Return the longest lease, if no fault was counted and it was too short for any to be."""
    if any(each.counts for each in hits_of(evidence)):
        return None
    columns, ttl = in_columns(evidence).columns, evidence.history.header.ttl
    promised = columns.ttl[(columns.f == ACQUIRE) & (columns.outcome == OK)]
    longest = int(promised.max(initial=ABSENT))
    lease = ttl if longest == ABSENT else longest
    is_short = len(promised) and lease is not None and lease < SHORTEST_LEASE
    return ShortLease(lease, ttl) if is_short and lease is not None else None


def _kept_lease(evidence: Evidence) -> KeptLease | None:
    """Return the TTL if no client got a paused client's lock for a whole TTL after its lease, and one asked.

    Requests count only if no server was under a fault, and their client was under none.
    """
    ttl = evidence.history.header.ttl
    if ttl is None:
        return None
    paused = (each for each in hits_of(evidence) if each.counts and each.fault.kind == "pause")
    hits = ((each.fault, hit) for each in paused for hit in each.holds)
    is_kept = any(
        _waited(evidence, fault, hit) >= ttl
        for fault, hit in hits
        if hit.whom is Hit.HOLDER and hit.end is End.EXPIRED and hit.past_lease
    )
    return KeptLease(ttl) if is_kept else None


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
        & (columns.called < healed)
        & (holds.learned > over)
    )
    waited: Counter[int] = Counter()
    for row in asked.tolist():
        until, since = min(int(holds.learned[row]), healed), max(int(columns.called[row]), over)
        waited[int(holds.client[row])] += until - since
    return max(waited.values(), default=0)
