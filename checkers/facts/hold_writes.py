"""Writes of holds without tokens: which were late, and which came after a write of a later hold?

Holds are ordered by real time (see `hold_order`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.facts.cluster_columns import was_rejected, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.hold_order import hold_order
from checkers.history.columns import FAIL, Flags, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranks import UNRANKED, Summit


class Writes:
    """The writes of holds without tokens, as arrays, by call."""

    def __init__(self, evidence: Evidence) -> None:
        zones, holds = zones_of(evidence), hold_order(evidence)
        self.rows = holds.writes
        self.grant = holds.grant_of(self.rows)
        called = zones.ranks.called[self.rows]
        answered = holds.answered(self.grant)
        self._zone = zones.zone_of(self.rows)  # or -1
        self.accepted: Flags = self._zone >= 0
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
        has_failed = (zones.columns.outcome[self.rows] == FAIL) & ~was_rejected(zones.columns, self.rows)
        self.reached_storage: Flags = self.accepted | ~has_failed  # as far as that is known

    def with_newest(self, places: Ints) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield row and grant of writes called after an accepted one, and (zone, grant) of the newest."""
        return self._newest_before(self._called, places)

    def seen_after_newest(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the same for writes that were called before an accepted one, but read after it."""
        return self._newest_before(self._claimed, indices(self._is_seen_after))

    def _newest_before(self, moments: Ints, places: Ints) -> Iterator[tuple[int, int, tuple[int, int]]]:
        by = self._known[self._mark.entries_before(moments[places])] if len(places) else places
        for place, newer in zip(places.tolist(), by.tolist(), strict=True):
            later = (int(self._zone[newer]), int(self.grant[newer]))
            yield int(self.rows[place]), int(self.grant[place]), later

    def with_latest_grant(self, places: Ints) -> Iterator[tuple[int, int, int]]:
        """Yield row and grant of late writes, with the latest grant before each was called."""
        by = self._granted.entries_before(self._called[places]) if len(places) else places
        rows, grants, later = self.rows[places], self.grant[places], self._grants[by]
        return zip(rows.tolist(), grants.tolist(), later.tolist(), strict=True)


@memoized
def writes_of(evidence: Evidence) -> Writes | None:
    """Return the writes of holds without tokens; None if there are none, or if a fence is promised."""
    if evidence.history.header.fenced or not len(hold_order(evidence).writes):
        return None
    return Writes(evidence)
