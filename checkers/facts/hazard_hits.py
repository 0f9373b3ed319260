"""Which hazards a run has seen: each fault, by the holds that it endangered.

A fault on a client hits the hold of that client, or the hold for which that client waits. A
fault on servers hits the hold of each resource. A hold is in progress from the request that
was granted (without one: from the answer) until its release is called, and of one resource
only the latest counts.

- *Point*: what the nemesis says where the client stopped itself there. Otherwise what the
  history shows: the acquire open: granted, or renewing if a renewal that was called after the
  grant was open, too; a renewal open: renewing; a write open: write-sent; its next call a
  write: before-write; else before-release if it had written, and acquired if not.
- *End*: another hold is later if its request was sent after this grant had returned (or after the
  fault began, if its client had stopped itself at a stop point: by then it was granted), or if its
  token is higher (if this hold's is not known: if it was granted after the fault began); never if
  it was granted before this one's request was sent, whatever the tokens.
  Superseded: a write of a later hold was accepted before the fault ended. Regranted: a later
  hold was granted by then. Expired: the lease was over by then, as far as the renewals that had
  been answered promised it. A hold whose lease is not known has expired if the fault lasted for
  a whole TTL.

A fault counts if it was seen healed; the kill of a client, which has no end, counts too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.facts.leases import lease_of
from checkers.history.columns import (
    ABSENT,
    ACQUIRE,
    APPEND,
    FENCE,
    FUNCTIONS,
    NEVER,
    OK,
    READ,
    RELEASE,
    RENEW,
    REVOKE,
    WRITE,
    Columns,
    Flags,
    Ints,
)
from checkers.history.faults import Fault, faults_of
from checkers.history.ranks import stable_order
from checkers.history.records import Header
from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import PLACE, Cell, End, Hit, Point, fate_of

_POINTS = {str(point): point for point in Point} | {"list-read": Point.BEFORE_WRITE}
"""The points that the nemesis names; a client that has read its list writes next."""


def _one_of(*functions: int) -> Flags:
    """Return a flag for each function; to look them up is much faster than `np.isin`."""
    flags = np.zeros(len(FUNCTIONS), np.bool_)
    flags[list(functions)] = True
    return flags


_IS_WRITE = _one_of(WRITE, APPEND)
_IS_CALL_OF_STORAGE = _one_of(WRITE, APPEND, FENCE, READ)
_IS_RELEASE = _one_of(RELEASE, REVOKE)
_SIDES = {"lock": Hit.LOCK, "storage": Hit.STORAGE}


def hazards_of(evidence: Evidence) -> HazardsDocument | None:
    """Return what the run has seen of the hazards that its target can produce; None if it is about none."""
    hit = hazards_hit(evidence)
    table = evidence.history.header.hazards
    if table is None:
        return HazardsDocument(hit=_by_name(hit)) if hit else None
    missed = [name for name in table.possible if Cell.named(name) not in hit]
    return HazardsDocument(
        hit=_by_name(hit), missed=missed, possible=len(table.possible), untried=table.untried
    )


def _by_name(hit: Mapping[Cell, int]) -> dict[str, int]:
    return {str(cell): count for cell, count in hit.items()}


def hazards_hit(evidence: Evidence) -> dict[Cell, int]:
    """Count the faults that hit each cell, in the order of `CELLS`; cells without any are left out."""
    header = evidence.history.header
    faults = [
        fault for fault in faults_of(evidence.history.faults) if fault.healed < math.inf or fault.is_death
    ]
    if not faults:
        return {}
    holds = _Holds(evidence)
    counted: Counter[Cell] = Counter()
    for fault in faults:
        for hold, hit in holds.hit_by(fault):
            end = holds.end(hold, fault, header)
            named = _POINTS.get(str(fault.at)) if hit is Hit.HOLDER else None
            point = named or holds.point(hold, fault.began)
            counted[Cell(point, end, hit, fate_of(fault.kind, fault.target, end))] += 1
    return {cell: counted[cell] for cell in sorted(counted, key=PLACE.__getitem__)}


class _Holds:
    """The acquires of a run by client, by owner and by resource; a hold is the row of its acquire."""

    def __init__(self, evidence: Evidence) -> None:
        self._operations = in_columns(evidence)
        self._columns = columns = self._operations.columns
        clients = evidence.history.header.clients
        self._client = columns.process if clients is None else columns.process % clients
        self._granted: Flags = (columns.f == ACQUIRE) & (columns.outcome == OK)
        self._learned = np.where(columns.learned == ABSENT, columns.returned, columns.learned)
        self._start = np.where(columns.attempt == ABSENT, columns.returned, columns.attempt)

    def hit_by(self, fault: Fault) -> Iterator[tuple[int, Hit]]:
        """Yield the holds that a fault endangered, each with whom it hit."""
        if fault.owner is not None:
            yield from self._named(fault)
        elif fault.client is not None:
            yield from self._of_client(fault.client, fault.began)
        elif side := _SIDES.get(fault.target.partition(":")[0]):
            for resource in range(len(self._columns.resources)):
                yield from ((hold, side) for hold in self._current(resource, fault.began))

    def point(self, hold: int, moment: int) -> Point:
        """Where the holder was at a moment, as far as the history shows."""
        columns, own = self._columns, self._of_owner(hold)
        renewals = own[(columns.f[own] == RENEW) & self._is_open(own, moment)]
        if moment < self._learned[hold]:
            of_hold = columns.called[renewals] >= self._start[hold]  # not those of a client that waits
            return Point.RENEWING if np.any(of_hold) else Point.GRANTED
        if len(renewals):
            return Point.RENEWING
        section = self._section(hold)
        writes = section[_IS_WRITE[columns.f[section]]]
        if np.any(self._is_open(writes, moment)):
            return Point.WRITE_SENT
        calls = section[_IS_CALL_OF_STORAGE[columns.f[section]]]
        if np.any(_IS_WRITE[columns.f[calls[columns.called[calls] > moment][:1]]]):
            return Point.BEFORE_WRITE
        return Point.BEFORE_RELEASE if np.any(columns.called[writes] <= moment) else Point.ACQUIRED

    def end(self, hold: int, fault: Fault, header: Header) -> End:
        """What had become of a hold when the fault ended."""
        until = _ns(fault.healed)
        later = self._later(hold, fault, until)
        if np.any(self._first_accepted[later] <= until):
            return End.SUPERSEDED
        if len(later):
            return End.REGRANTED
        lease = self._lease(hold, until)
        if lease == -math.inf:
            lease = math.inf if header.ttl is None else fault.began + header.ttl
        return End.EXPIRED if lease < fault.healed else End.BEFORE_EXPIRY

    def _named(self, fault: Fault) -> Iterator[tuple[int, Hit]]:
        columns = self._columns
        number = self._numbers.get(fault.owner, NEVER)
        rows = self._by_owner.of(number)
        rows = rows[(columns.f[rows] == ACQUIRE) & (columns.called[rows] <= fault.began)]
        if fault.resource is not None:
            rows = rows[[columns.resources[each] == fault.resource for each in columns.resource[rows]]]
        yield from ((hold, Hit.HOLDER) for hold in rows[-1:].tolist() if not self._is_over(hold, fault.began))

    def _of_client(self, client: int, moment: int) -> Iterator[tuple[int, Hit]]:
        columns = self._columns
        begun = self._acquires.of(client, until=moment)
        for acquire in begun[-1:].tolist():
            if self._granted[acquire] and self._start[acquire] <= moment:
                if not self._is_over(acquire, moment):
                    yield acquire, Hit.HOLDER
            elif self._learned[acquire] > moment:
                current = self._current(int(columns.resource[acquire]), moment)
                yield from ((hold, Hit.WAITER) for hold in current if hold != acquire)

    def _current(self, resource: int, moment: int) -> Iterator[int]:
        """Yield the latest hold of a resource at a moment, unless its holder has begun to release it."""
        begun = self._by_start.of(resource, until=moment)
        yield from (hold for hold in begun[-1:].tolist() if not self._is_over(hold, moment))

    def _is_over(self, hold: int, moment: int) -> bool:
        columns, own = self._columns, self._of_owner(hold)
        called = columns.called[own]
        ends = _IS_RELEASE[columns.f[own]] & (called >= columns.called[hold])
        return bool(np.any(ends & (called <= moment)))

    def _later(self, hold: int, fault: Fault, until: int) -> Ints:
        """Return the later holds of the resource that were granted before a moment."""
        columns = self._columns
        granted_by = columns.returned[hold] if fault.at is None or fault.owner is None else fault.began
        since = min(int(self._start[hold]), granted_by) if self._granted[hold] else fault.began
        rows = self._by_return.of(int(columns.resource[hold]), since, until)
        rows = rows[columns.owner[rows] != columns.owner[hold]]
        token = columns.token[hold]
        higher = (columns.token[rows] > token) & (token != ABSENT)
        sent = np.where(columns.attempt[rows] == ABSENT, columns.called[rows], columns.attempt[rows])
        later: Ints = rows[higher | (sent > granted_by) | (not self._granted[hold])]
        return later

    def _lease(self, hold: int, until: int) -> float:
        """Until when the lease was promised by what had been answered by then; -infinity if not known."""
        if not self._granted[hold]:
            return -math.inf
        own = self._of_owner(hold)
        answered = (self._columns.f[own] == RENEW) & (self._columns.returned[own] <= until)
        operations = list(self._operations.at(own[answered | (own == hold)]))
        grant = next(self._operations.at(np.array([hold])))
        return lease_of(grant, operations).end

    def _section(self, hold: int) -> Ints:
        """Return what the client of a hold did on its resource until its next acquire."""
        columns, client = self._columns, int(self._client[hold])
        rows, acquires = self._by_client.of(client), self._acquires.of(client)
        following = acquires[np.searchsorted(acquires, hold, side="right") :][:1]
        end = np.searchsorted(rows, following[0]) if len(following) else len(rows)
        rows = rows[np.searchsorted(rows, hold, side="right") : end]
        own: Ints = rows[columns.resource[rows] == columns.resource[hold]]
        return own

    def _is_open(self, rows: Ints, moment: int) -> Flags:
        flags: Flags = (self._columns.called[rows] <= moment) & (self._learned[rows] > moment)
        return flags

    def _of_owner(self, hold: int) -> Ints:
        """Return what the owner of a hold did with that lock."""
        columns = self._columns
        rows = self._by_owner.of(int(columns.owner[hold]))
        own: Ints = rows[columns.resource[rows] == columns.resource[hold]]
        return own

    @cached_property
    def _numbers(self) -> dict[str | None, int]:
        return {name: number for number, name in enumerate(self._columns.owners)}

    @cached_property
    def _first_accepted(self) -> Ints:
        """When the first accepted write of each hold had returned, by the row of its acquire; or NEVER."""
        columns = self._columns
        rows = stable_order(self._client)
        is_acquire = columns.f[rows] == ACQUIRE
        latest = rows[np.maximum.accumulate(np.where(is_acquire, np.arange(len(rows)), 0))]
        written = _IS_WRITE[columns.f[rows]] & (columns.outcome[rows] == OK)
        written &= (self._client[latest] == self._client[rows]) & (columns.f[latest] == ACQUIRE)
        written &= columns.resource[latest] == columns.resource[rows]
        first = np.full(len(columns), NEVER, dtype=np.int64)
        np.minimum.at(first, latest[written], columns.returned[rows[written]])
        return first

    @cached_property
    def _by_client(self) -> _Groups:
        return _Groups(self._client)

    @cached_property
    def _acquires(self) -> _Groups:
        """The acquires of each client, in the order of their calls."""
        rows = np.flatnonzero(self._columns.f == ACQUIRE)
        return _Groups(self._client[rows], rows, self._columns.called[rows])

    @cached_property
    def _by_owner(self) -> _Groups:
        return _Groups(self._columns.owner)

    @cached_property
    def _by_return(self) -> _Groups:
        return self._of_resources(self._columns, self._columns.returned)

    @cached_property
    def _by_start(self) -> _Groups:
        return self._of_resources(self._columns, self._start)

    def _of_resources(self, columns: Columns, moments: Ints) -> _Groups:
        """Return the grants of each resource, by a moment of each."""
        rows = np.flatnonzero(self._granted)
        rows = rows[np.argsort(moments[rows], kind="stable")]
        return _Groups(columns.resource[rows], rows, moments[rows])


class _Groups:
    """Rows by their number; those of one number in the order given, which is that of their moments."""

    def __init__(self, numbers: Ints, rows: Ints | None = None, moments: Ints | None = None) -> None:
        order = stable_order(numbers)
        self._numbers = numbers[order]
        self._rows = order if rows is None else rows[order]
        self._moments = self._rows if moments is None else moments[order]

    def of(self, number: int, since: int = ABSENT, until: int = NEVER) -> Ints:
        """Return the rows of a number whose moments are in a closed interval."""
        first, last = np.searchsorted(
            self._numbers, [number, number + 1] if number < NEVER else [NEVER, NEVER]
        )
        moments = self._moments[first:last]
        begin, end = np.searchsorted(moments, since), np.searchsorted(moments, until, side="right")
        rows: Ints = self._rows[first:last][begin:end]
        return rows


def _ns(moment: float) -> int:
    return NEVER - 1 if moment == math.inf else int(moment)
