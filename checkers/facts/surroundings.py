"""The faults on a lock service and its clients, and when these waited for a lock or for its token."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter

from checkers.facts.intervals import Interval, joined, without
from checkers.history.faults import Fault, client_of, faults_of, gone_at
from checkers.history.memoized import of_the_last
from checkers.history.records import FaultEvent, Header, Op, Outcome

_BREATHS = 10  # the grace is this many breaths long; a breath is the longest gap between two acquires


@of_the_last
def surroundings_of(header: Header, events: Sequence[FaultEvent]) -> Surroundings:
    """Return the surroundings of a run; the parts of it that are judged separately share them."""
    return Surroundings(header, faults_of(events))


class Surroundings:
    """The faults of a run, except those on its storage."""

    def __init__(self, header: Header, faults: Sequence[Fault]) -> None:
        self.header = header
        self._away: dict[int | None, list[Interval]] = {}  # by client; None: unknown clients
        self._down: dict[int, list[Interval]] = {}  # by the time added after each fault
        self._of_clients: dict[int | None, list[Fault]] = defaultdict(list)  # None: all clients
        for fault in faults:
            if fault.client is not None:
                self._of_clients[fault.client].append(fault)
                self._of_clients[None].append(fault)
        own = [each for each in faults if each.client is not None or not each.target.startswith("storage")]
        self._of_service = [fault for fault in own if fault.client is None]
        self._holding_up = [fault for fault in own if not fault.is_death]
        self._gone = gone_at(header, faults)
        self._healed = list(accumulate((fault.healed for fault in self._holding_up), max))

    @property
    def breath(self) -> float:
        """The longest gap between two acquires that counts as waiting, in ns."""
        return self.header.grace / _BREATHS

    def patience(self, lease: int) -> int:
        """Return how long a lock may take to be granted again, in ns; `lease` is its longest known lease."""
        return lease + self.header.grace

    def waited(self, acquire: Op) -> list[Interval]:
        """Return when the client of an acquire certainly waited."""
        end = acquire.returned if acquire.outcome is Outcome.FAIL else acquire.attempt
        if end is None:
            return []
        return without([(acquire.called, end)], self.away(acquire, self.breath + 1))

    def away(self, op: Op, after: float) -> list[Interval]:
        """Return when an operation's client may have been stopped, killed or cut off, and `after` more ns."""
        client = None if self.header.clients is None else client_of(op.process, self.header)
        if client not in self._away:
            hits = self._of_clients.get(client, ())
            self._away[client] = joined((fault.began, fault.healed + after) for fault in hits)
        return self._away[client]

    def in_force(self, setter: Op) -> float:
        """Return the latest moment at which a request can have taken effect."""
        if setter.returned is not None:
            return setter.returned
        left = self._gone(setter) if setter.learned is None else setter.learned
        begun = bisect_right(self._holding_up, left + self.header.grace, key=attrgetter("began"))
        healed = self._healed[begun - 1] if begun else -math.inf
        return max(left, healed) + self.header.grace

    def down(self, lease: int) -> list[Interval]:
        """Return when the service was not healthy, or may have restarted its leases since."""
        if lease not in self._down:
            self._down[lease] = joined((fault.began, fault.healed + lease) for fault in self._of_service)
        return self._down[lease]


class GrantStops:
    """The faults of a run that stopped a client at `granted`, by the hold that each names."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._stops: dict[tuple[str | None, str], list[Fault]] = defaultdict(list)
        for fault in faults:
            if fault.at == "granted" and fault.owner is not None:
                self._stops[fault.resource, fault.owner].append(fault)

    def of(self, grant: Op) -> Iterator[Fault]:
        """Yield the faults that stopped a client inside this acquire, in the order in which they began."""
        if grant.owner is None:
            return
        stops = self._stops.get((grant.resource, grant.owner), ())
        yield from (fault for fault in stops if fault.overlaps(grant.called, grant.over))
