"""The order of holds whose lock gives no tokens: only what real time makes certain.

Hold u comes before hold v iff u's grant had returned before the granted request for v was sent
(without an attempt: before its acquire was called). Two grants that overlap have no order.

A write without a token names the owner of its hold. Its hold is the owner's last grant without a
token that had returned when the write was called.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from checkers.facts.cluster_columns import was_rejected, zones_of
from checkers.facts.evidence import Evidence, in_columns
from checkers.history.columns import ABSENT, ACQUIRE, APPEND, OK, WRITE, Columns, Flags, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranks import UNRANKED, Summit, distinct, keys, stable_order
from checkers.history.records import Op


@memoized
def hold_order(evidence: Evidence) -> HoldOrder:
    """Return the holds without tokens of a history, and the writes in them."""
    return HoldOrder(evidence)


class HoldOrder:
    """Grants without tokens as arrays.

    Heights are moments as small numbers, resource by resource (see `ranks`): hold u comes before
    hold v of the same resource iff `answered(u) < asked(v)`.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._operations = operations = in_columns(evidence)
        columns = self._columns = operations.columns
        acquires = columns.rows(ACQUIRE)
        acquires = acquires[(columns.outcome[acquires] == OK) & (columns.token[acquires] == ABSENT)]
        self.grants: Ints = acquires[columns.owner[acquires] != ABSENT]
        writes = columns.rows(WRITE, APPEND)
        writes = writes[(columns.token[writes] == ABSENT) & (columns.owner[writes] != ABSENT)]
        self.writes, grant = _of_known_holds(columns, self.grants, writes)
        self._grant_of_row = np.full(len(columns), -1)
        self._grant_of_row[self.writes] = grant

    def grant_of(self, rows: Ints) -> Ints:
        """Return the row of the grant behind each write, or -1."""
        return self._grant_of_row[rows]

    def grant_behind(self, write: Op) -> Op | None:
        """Return the grant of the hold that a write belongs to, if it is known."""
        if write.index < 0:  # no client sent it
            return None
        row = int(self._grant_of_row[self._operations.row(write)])
        return None if row < 0 else self._operations[row]

    def operations(self, grants: Ints) -> tuple[Op, ...]:
        """Return rows as operations."""
        return tuple(self._operations.at(grants))

    def asked(self, grants: Ints) -> Ints:
        """Return when the request for each of these grants was sent, as heights."""
        return self._heights[0][np.searchsorted(self.grants, grants)]

    def answered(self, grants: Ints) -> Ints:
        """Return when each of these grants returned, as heights."""
        return self._heights[1][np.searchsorted(self.grants, grants)]

    @cached_property
    def _heights(self) -> tuple[Ints, Ints]:
        columns, grants = self._columns, self.grants
        attempt = columns.attempt[grants]
        sent = np.where(attempt == ABSENT, columns.called[grants], attempt)
        different, numbers = distinct(np.concatenate((sent, columns.returned[grants])))
        base = columns.resource[grants] * (len(different) + 1) + 1
        return base + numbers[: len(grants)], base + numbers[len(grants) :]


def _of_known_holds(columns: Columns, grants: Ints, writes: Ints) -> tuple[Ints, Ints]:
    """Return the writes whose owner had been granted the lock by their call, and its last grant by then."""
    rows = np.concatenate((grants, writes))
    (key,) = keys((columns.resource[rows], columns.owner[rows]))
    _, lock = distinct(key)
    granted, own = lock[: len(grants)], lock[len(grants) :]
    returned, called = keys((granted, columns.returned[grants]), (own, columns.called[writes]))
    order = stable_order(returned)
    first = np.searchsorted(granted[order], own)
    end = np.searchsorted(returned[order], called, side="right")
    known = indices(first < end)
    return writes[known], grants[order[end[known] - 1]]


def came_before(earlier: Op, later: Op) -> bool:
    """Had one grant returned before the request for the other was sent?"""
    return earlier.returned is not None and earlier.returned < later.sent


class Writes:
    """The writes of holds without tokens, as arrays, by call."""

    def __init__(self, evidence: Evidence) -> None:
        zones, holds = zones_of(evidence), hold_order(evidence)
        self.rows = holds.writes
        self.grant = holds.grant_of(self.rows)
        called = zones.ranks.called[self.rows]
        answered = holds.answered(self.grant)
        self._zone = zones.zone_of_row[self.rows]  # or -1
        self.accepted: Flags = self._zone != -1
        settled = np.where(self.accepted, zones.settled[self._zone], UNRANKED)
        self._known = indices(settled != UNRANKED)
        asked = holds.asked(self.grant[self._known])
        self._mark = Summit(zones.ranks.size, settled[self._known], asked)
        self._called = called
        self.is_after_accepted: Flags = self._mark.before(called) > answered
        self._claimed = np.where(self.accepted, zones.claimed[self._zone], called)
        self._is_seen_after = ~self.is_after_accepted & (self._mark.before(self._claimed) > answered)
        self._grants = holds.grants
        returned = zones.ranks.returned[self._grants]
        self._granted = Summit(zones.ranks.size, returned, holds.asked(self._grants))
        self.is_late: Flags = self._granted.before(called) > answered
        self.rejected: Flags = was_rejected(zones.columns, self.rows) & ~self.accepted
        self.is_answered: Flags = self.rejected | (zones.columns.outcome[self.rows] == OK)

    def with_newest(self, places: Ints) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield row and grant of writes called after an accepted one, and (zone, grant) of the newest."""
        return self._newest_before(self._called, places)

    def seen_after_newest(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the same for writes that were called before an accepted one, but read after it."""
        return self._newest_before(self._claimed, indices(self._is_seen_after))

    def _newest_before(self, moments: Ints, places: Ints) -> Iterator[tuple[int, int, tuple[int, int]]]:
        by = self._known[self._mark.entries_before(moments[places])]
        for place, newer in zip(places.tolist(), by.tolist(), strict=True):
            later = (int(self._zone[newer]), int(self.grant[newer]))
            yield int(self.rows[place]), int(self.grant[place]), later

    def with_latest_grant(self, places: Ints) -> Iterator[tuple[int, int, int]]:
        """Yield row and grant of late writes, with the latest grant before each was called."""
        by = self._granted.entries_before(self._called[places])
        rows, grants, later = self.rows[places], self.grant[places], self._grants[by]
        return zip(rows.tolist(), grants.tolist(), later.tolist(), strict=True)


@memoized
def writes_of(evidence: Evidence) -> Writes | None:
    """Return the writes of holds without tokens; None if there are none, or if a fence is promised."""
    if evidence.history.header.fenced or not len(hold_order(evidence).writes):
        return None
    return Writes(evidence)
