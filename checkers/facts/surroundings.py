"""The faults that a lock service and its clients were under, and who waited for a lock meanwhile."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter, itemgetter

from checkers.facts.intervals import Interval, joined, without
from checkers.history.faults import Fault, client_of, faults_of
from checkers.history.memoized import of_the_last
from checkers.history.records import FaultEvent, Header, Op, Outcome

_BREATHS = 10  # a gap between two acquires is a breath if it is so small a part of the grace


@of_the_last
def surroundings_of(header: Header, events: Sequence[FaultEvent]) -> Surroundings:
    """The faults of a run, and of the parts of it that are judged by themselves."""
    return Surroundings(header, faults_of(events))


class Surroundings:
    """The faults of a run: on its clients, and on what is not the storage."""

    def __init__(self, header: Header, faults: Sequence[Fault]) -> None:
        self.header = header
        self._away: dict[int | None, list[Interval]] = {}  # by client; None: unknown clients
        self._down: dict[int, list[Interval]] = {}  # by how long after
        self._of_clients: dict[int | None, list[Fault]] = defaultdict(list)  # None: of any
        for fault in faults:
            if fault.client is not None:
                self._of_clients[fault.client].append(fault)
                self._of_clients[None].append(fault)
        self._of_service = [
            fault for fault in faults if fault.client is None and not fault.target.startswith("storage")
        ]
        self._holding_up = [
            fault
            for fault in faults
            if not (fault.kind == "kill" and fault.client is not None)
            and not (fault.client is None and fault.target.startswith("storage"))
        ]
        self._healed = list(accumulate((fault.healed for fault in self._holding_up), max))

    @property
    def breath(self) -> float:
        """The longest gap between two acquires that counts as waiting, in ns."""
        return self.header.grace / _BREATHS

    def patience(self, lease: int) -> int:
        """How long a lock may take to be granted again, in ns; `lease` is the longest that it knows."""
        return lease + self.header.grace

    def waited(self, acquire: Op) -> list[Interval]:
        """When the client of an acquire waited for certain."""
        end = acquire.returned if acquire.outcome is Outcome.FAIL else acquire.attempt
        if end is None or end <= acquire.called:
            return []
        away = self.away(acquire, self.breath + 1)
        first = bisect_left(away, acquire.called, key=itemgetter(1))
        last = bisect_right(away, end, key=itemgetter(0))
        return without([(acquire.called, end)], away[first:last])

    def away(self, op: Op, after: float) -> list[Interval]:
        """When the client of an operation may have been stopped, killed or cut off; and so long after."""
        client = None if self.header.clients is None else client_of(op.process, self.header)
        if client not in self._away:
            hits = self._of_clients.get(client, ())
            self._away[client] = joined((fault.began, fault.healed + after) for fault in hits)
        return self._away[client]

    def in_force(self, setter: Op) -> float:
        """The latest moment at which a request can have been taken up."""
        if setter.returned is not None:
            return setter.returned
        left = self._killed(setter) if setter.learned is None else setter.learned
        begun = bisect_right(self._holding_up, left + self.header.grace, key=attrgetter("began"))
        healed = self._healed[begun - 1] if begun else -math.inf
        return (max(left, healed) if healed >= setter.called else left) + self.header.grace

    def down(self, lease: int) -> list[Interval]:
        """When the service was not healthy, and its leases may have begun again."""
        if lease not in self._down:
            self._down[lease] = joined((fault.began, fault.healed + lease) for fault in self._of_service)
        return self._down[lease]

    def _killed(self, op: Op) -> float:
        """When the client of an operation without an end was killed; infinity if no kill is known."""
        if self.header.clients is None:
            return math.inf
        kills = self._kills.get(client_of(op.process, self.header), ())
        after = bisect_left(kills, op.called)
        return kills[after] if after < len(kills) else math.inf

    @cached_property
    def _kills(self) -> dict[int | None, list[int]]:
        """When each client was killed."""
        return {
            client: [fault.began for fault in faults if fault.kind == "kill"]
            for client, faults in self._of_clients.items()
        }
