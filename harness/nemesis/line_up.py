"""A line-up: holders at stop points, so that one pause of servers endangers a hold of each resource.

All go on once the servers are seen stopped, and the pause ends when each hold has come to its aimed end.
A lock that is granted to another client is soon superseded, too: where that would be too much, the next
holder stops at its grant until the pause ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from checkers.hazards import Cell, End, Point
from harness.clients.shared_state import NOBODY
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.endangered_hold import EndangeredHold, has_come_to, why_missed
from harness.nemesis.fault import Fault
from harness.nemesis.pause import PauseSpec
from harness.nemesis.triggers import StopRequest, wait_until
from harness.nemesis.windows import LOST, TAKEN, Tally

RARE = frozenset({Point.RENEWING, Point.GRANTED})  # not part of every hold
COMES = 1  # TTLs until the first holder has stopped
FOLLOW = 0.35  # TTLs from then until the others have; a lease is renewed three times per TTL
SHORT = 0.01  # TTLs; a pause that ends before the holders, which go on meanwhile, release their locks
LONGEST = 4  # TTLs after which a pause ends even if a hold has not come to its aimed end


@dataclass(slots=True, kw_only=True)
class Place:
    """A place in a line-up: a hazard to aim at, and a resource's holder that stops there."""

    cell: Cell
    request: StopRequest  # of a stop at its point
    next_request: StopRequest  # of a stop of the next holder, at its grant
    hold: EndangeredHold = field(init=False)  # of the holder that stopped
    end: End | None = None  # what had become of the hold when the pause ended
    missed: str | None = TAKEN  # why that was not the aim

    @property
    def is_filled(self) -> bool:
        """Has a holder stopped here?"""
        return self.request.stopped_client != NOBODY

    def is_over(self) -> bool:
        """Has the hold come to its aimed end?"""
        self.end = self.hold.end()
        self.missed = why_missed(self.cell.end, self.end)
        return self.cell.end is not End.BEFORE_EXPIRY and has_come_to(self.end, self.cell.end)


@dataclass(frozen=True, slots=True)
class LineUp:
    """Fills the places, and pauses servers meanwhile."""

    clients: ClientFaults
    fault: PauseSpec
    places: Sequence[Place]

    def strike(self, last: int, window: Tally) -> None:
        """Pause the servers while a holder is at each place; request no stop after `last` (ns)."""
        clients, requested = self.clients, time.monotonic_ns()
        name, servers = clients.reach.recorded(self.fault.target), clients.needs(self.fault, NOBODY)
        self._line_up(last)
        came = [place for place in self.places if place.is_filled]
        filled = [place for place in came if self._is_reserved(place)]
        if filled and clients.reservations.reserve(None, servers):
            in_force = self._in_force(filled)
            with (
                clients.reservations.released_at_end(None, servers),
                clients.observer.observed(self.fault, name, requested, in_force),
            ):
                self._wait_for_ends(filled)
        else:
            self._let_go(filled)
        for place in came:
            window(place.missed)
        for place in self.places:
            place.request.forget()

    def _line_up(self, last: int) -> None:
        """Stop a holder at each place: at the rare points first, so that no other waits for those."""
        with ExitStack() as armed:
            for rare in (True, False):
                places = [place for place in self.places if (place.cell.point in RARE) is rare]
                for place in places:
                    armed.enter_context(place.request.armed())
                if places:
                    self._wait(partial(_are_filled, any, places), COMES, last)
                    self._wait(partial(_are_filled, all, places), FOLLOW, last)

    def _is_reserved(self, place: Place) -> bool:
        """Reserve the holder at a place; False if another fault has it, or others have its lock."""
        client = self.clients.reserve_stopped(place.request)
        if client == NOBODY:
            return False
        place.hold = self.clients.endangered(client)
        if self.clients.is_lost(client):
            place.missed = LOST
            self._let_go([place])
        return place.missed != LOST

    def _let_go(self, places: Sequence[Place]) -> None:
        for place in places:
            self.clients.let_go(place.hold.held.client)
            place.request.forget()

    @contextmanager
    def _in_force(self, places: Sequence[Place]) -> Iterator[Fault]:
        """Keep the servers stopped, but let the holders go on; and the next ones when the pause ends."""
        with self.fault.in_force(self.clients.reach, lambda _length: None) as fault:
            self._let_go(places)
            for place in places:
                place.hold.begin()
            try:
                yield fault
                fault.until = time.monotonic_ns()  # from here on the next holders may write
            finally:
                for place in places:
                    client = self.clients.reserve_stopped(place.next_request)
                    if client != NOBODY:
                        self.clients.let_go(client)

    def _wait_for_ends(self, places: Sequence[Place]) -> None:
        """Wait until all holds have come to their aimed ends; meanwhile, ask next holders to stop."""
        to_ask = [place for place in places if place.cell.end is End.REGRANTED]
        longest = LONGEST if any(place.cell.end is not End.BEFORE_EXPIRY for place in places) else SHORT

        def are_over() -> bool:
            for place in [place for place in to_ask if place.hold.is_past_grant]:
                to_ask.remove(place)
                asked.enter_context(place.next_request.armed())
            looked_at = [place.is_over() for place in places]
            return all(looked_at)

        with ExitStack() as asked:
            self._wait(are_over, longest)

    def _wait(self, condition: Callable[[], bool], ttls: float, last: float = math.inf) -> bool:
        until = min(last, time.monotonic_ns() + ttls * self.clients.ttl)
        return wait_until(condition, until, self.clients.over.is_set)


def _are_filled(enough: Callable[[Iterable[bool]], bool], places: Sequence[Place]) -> bool:
    return enough(place.is_filled for place in places)
