"""Which hold each fault hit, where its holder was then, and what had become of the hold when it ended.

**Holds.** A fault on a client hits a hold of that client (the one that the nemesis named, if any) iff

- it was in force at some moment from the granted request on, and
- it began before all of these: the first release or revoke of the hold was called; another owner's
  later grant returned; the promised lease ended.

So a fault that begins after its hold was lost hits nothing. A re-entrant owner's acquires with one
token are one hold, which is hit once. An acquire that never returned a grant is a hold if the nemesis
names it: its client had reported the grant. A fault on servers hits the holds that were granted when
it began, under the same conditions. A fault on a client that waits for a lock hits the waiting acquire,
and the hold that it waits for. A fault on a worker hits the take and the execution in which it is. A fault
on a client that hits none of these is not counted.

**Point.** The point that the nemesis names, if the client stopped itself there. Otherwise the history
decides. Acquire open: granted, or renewing if a renewal that was called after the grant is open, too.
Renewal open: renewing. Write open: write-sent. Next call a write: before-write. Otherwise
before-release if the client had written, and acquired if not. None if the fault began before the grant.

**End.** `holds` defines which hold is later; a hold that the nemesis named was granted when the fault
began, even if its acquire returned afterwards. Superseded: a write in a later hold of another client
was accepted before the fault ended. Regranted: another client's later hold was granted by then.
Expired: the lease was over by then, counting only requests that were sent before the fault began or
answered before it ended. A hold without a known lease has expired if the fault lasted for a whole TTL.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from checkers.facts.evidence import Evidence
from checkers.facts.executions import worked
from checkers.facts.holds import holds_of
from checkers.history.columns import ABSENT, FUNCTIONS, NO_ROWS, RELEASE, RENEW, REVOKE, Flags, Ints, in_ns
from checkers.history.faults import Fault, faults_of
from checkers.history.memoized import memoized
from checkers.history.records import WRITES
from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import PLACE, Cell, End, Hit, Point, fate_of

_POINTS = {str(point): point for point in Point} | {"list-read": Point.BEFORE_WRITE}
"""The points that the nemesis can name; a client that has read its list writes next."""


def _one_of(*functions: str) -> Flags:
    """Return a flag for each function; looking them up is much faster than `np.isin`."""
    flags = np.zeros(len(FUNCTIONS), np.bool_)
    flags[list(map(FUNCTIONS.index, functions))] = True
    return flags


_IS_WRITE = _one_of(*WRITES)
_IS_CALL_OF_STORAGE = _one_of(*WRITES, "fence", "read")
_BEFORE_SENDING = frozenset({"granted", "acquired", "list-read", "before-write"})
_SIDES = {"lock": Hit.LOCK, "storage": Hit.STORAGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldHit:
    """A hold that a fault hit, directly or through a client that waited for it."""

    hold: int  # the row of its acquire
    whom: Hit
    point: Point | None  # None: it was granted while the fault was in force
    end: End
    past_lease: bool  # did the fault outlive the promised lease?
    others: frozenset[int]  # the rows of other clients' later grants that returned while it was in force


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHits:
    """One fault, and everything that it hit."""

    fault: Fault
    holds: tuple[HoldHit, ...]
    counts: bool  # was it observed from beginning to end, and did it hit anything?


@memoized
def hits_of(evidence: Evidence) -> tuple[FaultHits, ...]:
    """Return what each fault hit, in the order in which the faults began."""
    faults = faults_of(evidence.history.faults)
    if not faults:
        return ()
    search = _Search(evidence)
    return tuple(map(search.of, faults))


def hazards_of(evidence: Evidence) -> HazardsDocument | None:
    """Return the hazards that a run hit and missed, of all that its target can produce; None without any."""
    hit = {str(cell): count for cell, count in hazards_hit(evidence).items()}
    table = evidence.history.header.hazards
    if table is None:
        return HazardsDocument(hit=hit) if hit else None
    missed = [name for name in table.possible if str(Cell.named(name)) not in hit]
    return HazardsDocument(
        hit=hit, missed=missed, possible=len(table.possible), untried=table.untried, unreached=table.unreached
    )


def hazards_hit(evidence: Evidence) -> dict[Cell, int]:
    """Count the faults that hit each cell, in the order of `CELLS`; cells without any are left out."""
    counted = Counter(
        Cell(hit.point, hit.end, hit.whom, fate_of(each.fault.kind, each.fault.target, hit.end))
        for each in hits_of(evidence)
        if each.counts
        for hit in each.holds
        if hit.point is not None
    )
    return {cell: counted[cell] for cell in sorted(counted, key=PLACE.__getitem__)}


class _Search:
    """Finds what faults hit; a hold is the row of its acquire."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._holds = holds_of(evidence)
        self._columns = self._holds.columns
        self._header = evidence.history.header

    def of(self, fault: Fault) -> FaultHits:
        """Return what a fault hit."""
        is_observed = fault.healed < math.inf or fault.is_death
        side = _SIDES.get(fault.target.partition(":")[0])
        if fault.client is None and (side is not None or fault.owner is None):
            held = self._once(self._held_at(fault.began), fault)
            found = () if side is None else tuple(self._hit(hold, side, fault) for hold in held)
            return FaultHits(fault=fault, holds=found, counts=is_observed)
        holds = [self._hit(hold, Hit.HOLDER, fault) for hold in self._once(self._of_holder(fault), fault)]
        waits = self._waits(fault)
        if fault.owner is None:
            awaited = self._once(self._awaited(waits, fault), fault)
            holds += (self._hit(hold, Hit.WAITER, fault) for hold in awaited)
        counts = is_observed and bool(holds or len(waits) or self._hits_worker(fault))
        return FaultHits(fault=fault, holds=tuple(holds), counts=counts)

    def _once(self, acquires: Iterable[int], fault: Fault) -> Iterator[int]:
        """Yield each hold once: the last acquire of a re-entrant one that had begun, or else the first."""
        columns = self._columns
        chosen: dict[tuple[int, ...], int] = {}

        def when(acquire: int) -> int:
            start = int(self._holds.start[acquire])
            return start if start <= fault.began else -start

        for row in acquires:
            token, owner = int(columns.token[row]), int(columns.owner[row])
            is_shared = self._holds.granted[row] and ABSENT not in {token, owner}
            hold = (int(columns.resource[row]), owner, token) if is_shared else (row,)
            chosen[hold] = max(chosen.get(hold, row), row, key=when)
        return iter(chosen.values())

    def _of_holder(self, fault: Fault) -> Iterator[int]:
        """Yield the holds that a fault hit: of its client, or only the one that the nemesis named."""
        holds, until = self._holds, in_ns(fault.healed)
        if fault.owner is not None and fault.kind != "partition":  # it cuts off all holds of a client
            rows = holds.of_owner(fault.owner, fault.resource)
        elif fault.client is not None:
            rows = holds.of_client(fault.client, fault.began, until)
        else:
            return
        rows = rows[holds.sent[rows] <= until]
        yield from (hold for hold in rows.tolist() if self._is_hit(hold, fault.began))

    def _is_hit(self, hold: int, moment: int) -> bool:
        if self._holds.granted[hold]:
            return self._holds.is_held_at(hold, moment)
        columns, own = self._columns, self._holds.of_lock(hold)
        ended = (columns.f[own] == RELEASE) | (columns.f[own] == REVOKE)
        ended &= (columns.called[own] >= columns.called[hold]) & (columns.called[own] <= moment)
        is_open: bool = columns.called[hold] <= moment < self._holds.learned[hold]
        return is_open and not np.any(ended)

    def _held_at(self, moment: int, resources: Iterable[int] | None = None) -> Iterator[int]:
        """Yield the holds of some resources, or of all, that were granted and not lost at a moment."""
        holds = self._holds
        for resource in range(len(self._columns.resources)) if resources is None else resources:
            rows = holds.of_resource(resource, moment)
            yield from (hold for hold in rows.tolist() if holds.is_held_at(hold, moment))

    def _waits(self, fault: Fault) -> Ints:
        """Return the acquires that were in flight under a fault, and not granted when it began, by call."""
        holds = self._holds
        if fault.client is None:
            return NO_ROWS
        rows = holds.acquires(fault.client, until=in_ns(fault.healed))
        return rows[
            (holds.learned[rows] > fault.began) & ~(holds.granted[rows] & (holds.start[rows] <= fault.began))
        ]

    def _hits_worker(self, fault: Fault) -> bool:
        """Was a client under a fault while it executed a job, or waited for one?"""
        own = worked(self._evidence).get(fault.client, ())
        place = bisect_left(own, fault.began, key=itemgetter(1))
        return place < len(own) and own[place][0] <= fault.healed

    def _awaited(self, waits: Ints, fault: Fault) -> Iterator[int]:
        """Yield the holds for which a client waited when a fault began."""
        columns = self._columns
        waits = waits[columns.called[waits] <= fault.began]
        for hold in self._held_at(fault.began, columns.resource[waits[-1:]].tolist()):
            if hold not in waits:
                yield hold

    def _hit(self, hold: int, whom: Hit, fault: Fault) -> HoldHit:
        later = self._later(hold, fault)
        lease = self._holds.promised_under(hold, fault.began, in_ns(fault.healed))
        named = _POINTS.get(str(fault.at)) if whom is Hit.HOLDER else None
        is_granted = self._holds.start[hold] <= fault.began
        return HoldHit(
            hold=hold,
            whom=whom,
            point=named or (self._point(hold, fault.began) if is_granted else None),
            end=self._end(later, lease, fault),
            past_lease=-math.inf < lease < fault.healed,
            others=frozenset(later[self._columns.returned[later] >= fault.began].tolist()),
        )

    def _point(self, hold: int, moment: int) -> Point:
        """Return where the holder was at a moment, as far as the history shows."""
        columns, own = self._columns, self._holds.of_lock(hold)
        renewals = own[(columns.f[own] == RENEW) & self._is_open(own, moment)]
        if moment < self._holds.learned[hold]:
            of_hold = columns.called[renewals] >= self._holds.start[hold]  # not one called while it waited
            return Point.RENEWING if np.any(of_hold) else Point.GRANTED
        if len(renewals):
            return Point.RENEWING
        section = self._holds.section(hold)
        writes = section[_IS_WRITE[columns.f[section]]]
        if np.any(self._is_open(writes, moment)):
            return Point.WRITE_SENT
        calls = section[_IS_CALL_OF_STORAGE[columns.f[section]]]
        if np.any(_IS_WRITE[columns.f[calls[columns.called[calls] > moment][:1]]]):
            return Point.BEFORE_WRITE
        return Point.BEFORE_RELEASE if np.any(columns.called[writes] <= moment) else Point.ACQUIRED

    def _end(self, later: Ints, lease: float, fault: Fault) -> End:
        """Return what had become of a hold when the fault ended."""
        if np.any(self._holds.first_accepted[later] <= in_ns(fault.healed)):
            return End.SUPERSEDED
        if len(later):
            return End.REGRANTED
        if lease == -math.inf:
            lease = math.inf if self._header.ttl is None else fault.began + self._header.ttl
        return End.EXPIRED if lease < fault.healed else End.BEFORE_EXPIRY

    def _later(self, hold: int, fault: Fault) -> Ints:
        """Return the later holds of other clients that were granted before a fault ended."""
        holds, columns = self._holds, self._columns
        if not holds.granted[hold]:
            rows = holds.granted_between(int(columns.resource[hold]), fault.began, in_ns(fault.healed))
            others: Ints = rows[holds.client[rows] != holds.client[hold]]
            return others
        granted_by = int(columns.returned[hold])
        if fault.owner is not None:  # the nemesis names the holder only once it was granted the lock
            granted_by = min(granted_by, fault.began)
        since = min(int(holds.start[hold]), granted_by)
        rows = holds.granted_between(int(columns.resource[hold]), since, in_ns(fault.healed))
        rows = rows[holds.client[rows] != holds.client[hold]]
        later: Ints = rows[holds.came_after(rows, hold, granted_by)]
        return later

    def _is_open(self, rows: Ints, moment: int) -> Flags:
        return (self._columns.called[rows] <= moment) & (self._holds.learned[rows] > moment)


def sent_from(evidence: Evidence) -> Ints:
    """Return the earliest moment at which each operation can have been sent, by row (ns).

    This is its call, or the end of a pause at a stop point before its request was sent.
    """
    holds = holds_of(evidence)
    columns = holds.columns
    earliest = columns.called.copy()
    for each in hits_of(evidence):
        fault = each.fault
        if fault.kind != "pause" or fault.at not in _BEFORE_SENDING or math.isinf(fault.healed):
            continue
        for hit in each.holds:
            rows = holds.section(hit.hold)
            held_up = rows[(columns.called[rows] <= fault.began) & (holds.learned[rows] > fault.began)]
            earliest[held_up] = np.maximum(earliest[held_up], int(fault.healed))
    return earliest
