"""The values that one resource held, as arrays: what had been there when, and what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.history.columns import Flags, Ints, indices
from checkers.history.records import Op
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.clusters import Zone


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """The values that one resource held, in arrays with one place for each: the initial one's first.

    Moments are in any unit that keeps their order.
    """

    settled: Ints  # see `zones`
    claimed: Ints
    called: Ints  # when its write was sent
    token: Ints
    was_read: Flags
    zone: Callable[[int], Zone]
    place_of: Callable[[Op], int]  # of the value that a read returned
    moments: Callable[[Op], tuple[int, int]]  # call and return of a read or write

    @cached_property
    def order(self) -> Ints:
        """The places by the moments at which they were settled."""
        return np.argsort(self.settled, kind="stable")

    @cached_property
    def _settled(self) -> Ints:
        return self.settled[self.order]

    @cached_property
    def _latest_call(self) -> Ints:
        return np.maximum.accumulate(self.called[self.order])

    @cached_property
    def _latest_claim(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order])

    @cached_property
    def _latest_claim_from(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order][::-1])[::-1]

    def there_before(self, moment: int) -> Ints:
        """The places of the values that had surely been there before a moment."""
        return self.order[: np.searchsorted(self._settled, moment)]

    def last_before(self, moment: int, *, fenced: bool) -> int:
        """The last value that had surely been there: none of the others surely replaced it.

        Of several it is the one that a fence would have let through last, or that was sent last.
        """
        count = int(np.searchsorted(self._settled, moment))
        first = int(np.searchsorted(self._settled, self._latest_call[count - 1]))
        of = self.order[first:count]
        tokens = self.token[of] if fenced else np.zeros(len(of), dtype=np.int64)
        return int(of[np.lexsort((self.called[of], tokens))[-1]])

    def stayed(self, value: int, moment: int) -> bool:
        """After a moment, was something read from before a value, and nothing else sent or read?"""
        older = int(np.searchsorted(self._settled, self.called[value]))  # the initial value at the least
        return bool(self._latest_claim[older - 1] > moment >= self._latest_claim_from[older])

    def last_seen_from_before(self, value: int) -> Op:
        """The last read of something that had been there before a value was sent, if there is one."""
        older = self.there_before(int(self.called[value]))
        seen = self.zone(int(older[np.argmax(self.claimed[older])])).claimed_by
        if seen is None:
            raise ValueError("no read returned anything from before that value")
        return seen

    def came_back(self, value: int, read: Op) -> Op | None:
        """What returned it after a read had returned, or another that had been there and is not older."""
        called, returned = self.moments(read)
        first, last = np.searchsorted(self._settled, (self.called[value], called))
        there = self.order[first:last]
        seen = there[self.claimed[there] > returned]
        return self.zone(int(seen[0])).claimed_by if len(seen) else None

    def higher_read(self, token: int, moment: int) -> Op | None:
        """A read that had returned a higher token before a moment: the last settled one's first."""
        before = self.there_before(moment)
        for place in before[self.was_read[before] & (self.token[before] > token)][::-1].tolist():
            for read in self.zone(place).reads:
                if self.moments(read)[1] < moment:
                    return read
        return None


def of_columns(zones: ZoneColumns, resource: int) -> Values:
    """Moments are ranks; tokens are those of the columns."""
    places, row = indices(zones.resource == resource), zones.ops.row
    rows = zones.write[places[1:] - zones.initials]  # the first is the initial value's
    reads, of = zones.all_reads
    was_read = np.zeros(len(zones.resource), dtype=np.bool_)
    was_read[of] = True
    return Values(
        settled=zones.settled[places],
        claimed=zones.claimed[places],
        called=np.append(zones.ranks.start[resource], zones.ranks.called[rows]),
        token=zones.token[places],
        was_read=was_read[places],
        zone=lambda place: zones.zone(int(places[place])),
        place_of=lambda read: int(np.searchsorted(places, of[indices(reads == row(read))[0]])),
        moments=lambda op: (int(zones.ranks.called[row(op)]), int(zones.ranks.returned[row(op)])),
    )
