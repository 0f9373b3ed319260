"""The values that resources held, as arrays: when each had been there, which came back, which were lost.

Each is written once, so a value that another replaced is gone for good. `lost_writes` has the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.clusters import Zone
from checkers.facts.evidence import Evidence
from checkers.facts.recorded import restarts_of_storage
from checkers.history.columns import ABSENT, Flags, Ints, indices
from checkers.history.faults import Faults
from checkers.history.ranges import NOWHERE, Above, first_at_most, highest_places
from checkers.history.ranks import UNRANKED
from checkers.history.records import Op


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """The values that one resource held, in arrays with one place for each; the initial value is first.

    Moments are in any unit that keeps their order.
    """

    settled: Ints  # see `clusters`
    claimed: Ints
    called: Ints  # when its write was sent
    token: Ints
    read_by: Ints  # when the first read of it had returned; UNRANKED if it was never read
    zone: Callable[[int], Zone]
    place_of: Callable[[Op], int]  # the place of the value that a read returned
    moments: Callable[[Op], tuple[int, int]]  # call and return of a read or write

    @cached_property
    def order(self) -> Ints:
        """The places by the moments at which they were settled."""
        return np.argsort(self.settled, kind="stable")

    @cached_property
    def _settled(self) -> Ints:
        return self.settled[self.order]

    @cached_property
    def _claimed(self) -> Above:
        return Above(self.claimed[self.order])

    @cached_property
    def _read_last(self) -> Above:
        """The tokens of the values that were read, and when they were read; the last settled first."""
        last = self.order[::-1]
        was_read = self.read_by[last] != UNRANKED
        return Above(*(np.where(was_read, each[last], ABSENT) for each in (self.token, -self.read_by)))

    @cached_property
    def _latest_call(self) -> Ints:
        return np.maximum.accumulate(self.called[self.order])

    @cached_property
    def _latest_claim(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order])

    @cached_property
    def _latest_claim_from(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order][::-1])[::-1]

    def last_before(self, moments: Ints, *, fenced: bool) -> Ints:
        """Return the last value that had surely been there before each moment, and that none surely replaced.

        If several qualify, it is the one that a fence would have let through last, or that was sent last.
        """
        counts = np.searchsorted(self._settled, moments)
        firsts = np.searchsorted(self._settled, self._latest_call[counts - 1])
        tokens = self.token[self.order] if fenced else np.zeros_like(self.order)
        place = np.empty(len(self.order), dtype=np.int64)
        place[np.lexsort((self.called[self.order], tokens))] = np.arange(len(self.order))
        return self.order[highest_places(place, firsts, counts)]

    def stayed(self, value: int, moment: int) -> bool:
        """After a moment, was a value from before this one read, and no other value sent or read?"""
        older = int(np.searchsorted(self._settled, self.called[value]))  # the initial value at the least
        return bool(self._latest_claim[older - 1] > moment >= self._latest_claim_from[older])

    def last_seen_from_before(self, value: int) -> Op:
        """Return the last read of a value that had been there before this one was sent.

        Raises:
            ValueError: no read returned such a value.
        """
        older = int(np.searchsorted(self._settled, self.called[value]))
        last = int(np.searchsorted(self._latest_claim, self._latest_claim[older - 1]))
        seen = self.zone(int(self.order[last])).claimed_by
        if seen is None:
            raise ValueError("no read returned anything from before that value")
        return seen

    def came_back(self, value: int, read: Op) -> Op | None:
        """Return a read, later than this one, of the value or of another that was there and is not older."""
        called, returned = self.moments(read)
        first, last = np.searchsorted(self._settled, (self.called[value], called)).tolist()
        seen = self._claimed.first((returned,), first)
        return None if seen is None or seen >= last else self.zone(int(self.order[seen])).claimed_by

    def higher_read(self, token: int, moment: int) -> Op | None:
        """Return a read that had returned a higher token before a moment, of the value settled last."""
        found = self._read_last.first((token, -moment))
        if found is None:
            return None
        reads = self.zone(int(self.order[len(self.order) - 1 - found])).reads
        return next(read for read in reads if self.moments(read)[1] < moment)


def of_columns(zones: ZoneColumns, resource: int) -> Values:
    """Return the values of a resource; their moments are ranks, and their tokens are as recorded."""
    places, row = zones.of_resource(resource), zones.ops.row
    rows = zones.write[places[1:] - zones.initials]  # the first is the initial value's
    return Values(
        settled=zones.settled[places],
        claimed=zones.claimed[places],
        called=np.append(zones.ranks.start[resource], zones.ranks.called[rows]),
        token=zones.token[places],
        read_by=zones.read_by[places],
        zone=lambda place: zones.zone(int(places[place])),
        place_of=lambda read: int(np.searchsorted(places, zones.zone_of_read[row(read)])),
        moments=lambda op: (int(zones.ranks.called[row(op)]), int(zones.ranks.returned[row(op)])),
    )


def replaced_by(zones: ZoneColumns, places: Ints, called: Ints, among: Ints) -> Ints:
    """Return, for each zone, which of some others was there after it and before a moment.

    This is the one settled first, or NOWHERE. Algorithm R: two values contradict each other
    if each must have been there before the last operation of the other was called.
    """
    found = _first_lasting(zones, places, among, by=zones.settled)
    return np.where((found != NOWHERE) & (zones.settled[found] < called), found, NOWHERE)


def not_written_late(zones: ZoneColumns, places: Ints, odd: Flags) -> Ints:
    """Return, for each zone read after a newer value had been there, a zone that shows it did not come last.

    This is a value that replaced it, or one that was there after it and that the fence would have
    refused after the newer value. NOWHERE: all reads of its value are right if the fence let only this
    write pass late.
    """
    until = zones.claimed[places]
    everything = np.arange(len(zones.level))
    by = replaced_by(zones, places, until, everything)
    lower = _first_lasting(zones, places, indices(~odd[: zones.bare]), by=zones.level)
    is_refused = (lower != NOWHERE) & (zones.level[lower] < zones.mark.before(until))
    return np.where(by != NOWHERE, by, np.where(is_refused, lower, NOWHERE))


def _first_lasting(zones: ZoneColumns, places: Ints, among: Ints, *, by: Ints) -> Ints:
    """Return, for each zone, the lowest of some others of its register that were there after it."""
    among = among[np.lexsort((by[among], zones.resource[among]))]
    lasted, past = -zones.claimed[among], -zones.settled[places] - 1
    place = np.append(among, NOWHERE)
    start = np.searchsorted(zones.resource[among], zones.resource[places])
    found = first_at_most(lasted, start, past)
    found = np.where(place[found] == places, first_at_most(lasted, found + 1, past), found)
    other = place[np.minimum(found, len(among))]
    return np.where(zones.resource[other] == zones.resource[places], other, NOWHERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """What is known about a storage besides its values."""

    fenced: bool
    strict: bool
    restarts: Faults

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """Return what the header promises, with the restarts that were seen."""
        header, restarts = evidence.history.header, restarts_of_storage(evidence.history.faults)
        return cls(fenced=header.fenced, strict=header.policy == "strict", restarts=restarts)


class StaleWrites:
    """The stale writes of a resource, by call; none if the storage has no mark."""

    def __init__(self, storage: StorageFacts, values: Values, stale: Iterable[Op]) -> None:
        self._ops = sorted(stale, key=lambda op: values.moments(op)[0]) if storage.fenced else []
        self._called = np.array([values.moments(op)[0] for op in self._ops], dtype=np.int64)
        token = np.array([op.token or 0 for op in self._ops], dtype=np.int64)
        self._between = Above(token, -token)
        self._strict = storage.strict

    def first_after(self, moment: int, past: int, mark: int) -> Op | None:
        """Return the first one sent after a moment that the mark `past` lets through and `mark` refuses."""
        first = int(np.searchsorted(self._called, moment, side="right"))
        limits = (past, -mark - 1) if self._strict else (past - 1, -mark)
        found = self._between.first(limits, first)
        return None if found is None else self._ops[found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relapse:
    """A read of a value that the storage went back to."""

    op: Op
    value: int  # the place of the value that it returned
    last: int  # the place of the last value that had surely been there when it was called


def reads_of_suspects(values: Values, storage: StorageFacts, suspects: Iterable[Op]) -> list[Relapse]:
    """Return all reads of the values that these reads returned, by return."""
    places = sorted({values.place_of(read) for read in suspects})
    found = [(op, place) for place in places for op in values.zone(place).reads]
    called = np.array([values.moments(op)[0] for op, _ in found], dtype=np.int64)
    lasts = values.last_before(called, fenced=storage.fenced).tolist()
    reads = [Relapse(op=op, value=place, last=last) for (op, place), last in zip(found, lasts, strict=True)]
    return sorted(reads, key=lambda read: (values.moments(read.op)[1], read.op.index))


def losses_of(
    values: Values, storage: StorageFacts, reads: Iterable[Relapse], stale: StaleWrites
) -> dict[int, tuple[Relapse, tuple[Op, ...]]]:
    """Return the places of the values that were lost for good, each with the first read that shows it.

    Also with what shows that the past stayed or was acted on: nothing after a restart.
    """
    losses: dict[int, tuple[Relapse, tuple[Op, ...]]] = {}
    for read in reads:
        lost = read.last
        if lost in losses or values.settled[read.value] >= values.called[lost]:
            continue
        witness = _witness(values, storage, read, stale)
        if witness is not None:
            losses[lost] = read, witness
    return losses


def _witness(
    values: Values, storage: StorageFacts, read: Relapse, stale: StaleWrites
) -> tuple[Op, ...] | None:
    """Return what shows that the past stayed or was acted on; empty after a restart; None without a loss."""
    returned = values.moments(read.op)[1]
    if values.claimed[read.last] > returned:
        return None
    if values.stayed(read.last, returned):
        return (values.last_seen_from_before(read.last),)
    act = stale.first_after(returned, int(values.token[read.value]), int(values.token[read.last]))
    if act is None and not is_after_restart(values, storage, read):
        return None
    return None if values.came_back(read.last, read.op) else () if act is None else (act,)


def is_after_restart(values: Values, storage: StorageFacts, read: Relapse) -> bool:
    """Was the storage restarted after the last value had been sent, and before the read returned?"""
    write = values.zone(read.last).write
    return write is not None and storage.restarts.first_between(write.called, read.op.over) is not None
