"""A line-up: holders at stop points, so that one pause of servers endangers a hold of each resource.

They go on once the servers are seen stopped, and the pause ends when each hold has come to its aimed end.
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

from checkers.vocabulary.hazards import Cell, End, Point
from harness.clients.shared_state import NOBODY
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.endangered_hold import EndangeredHold, has_come_to, why_missed
from harness.nemesis.fault import InjectedFault
from harness.nemesis.faults import name_of
from harness.nemesis.pause import PauseSpec
from harness.nemesis.triggers import StopRequest, wait_until
from harness.nemesis.windows import LOST, Tally, had_servers, had_victim

RARE = frozenset({Point.RENEWING, Point.GRANTED})  # not part of every hold
HEAD_START = 0.5  # TTLs in which holders stop at rare points only; a lease is renewed three times per TTL
COMES = 1  # TTLs until the first holder has stopped
FOLLOW = 0.35  # TTLs from then until the others have
ENDING = 0.35  # TTLs left of a lease that is to end during the pause
LEAST = 0.1  # TTLs left of the next holder's lease when it goes on at the latest
SHORT = 0.01  # TTLs; a pause that ends before the holders, which go on meanwhile, release their locks
LONGEST = 4  # TTLs after which a pause ends even if a hold has not come to its aimed end


@dataclass(slots=True, kw_only=True, eq=False)
class Place:
    """A place in a line-up: a hazard to aim at, and a resource's holder that stops there."""

    cell: Cell
    request: StopRequest  # of a stop at its point
    next_request: StopRequest  # of a stop of the next holder, at its grant
    hold: EndangeredHold = field(init=False)  # of the holder that stopped
    end: End | None = None  # what had become of the hold when the pause ended
    missed: str | None = None  # why that was not the aim
    next_hold: EndangeredHold | None = None
    is_next_asked: bool = False

    @property
    def is_filled(self) -> bool:
        """Has a holder stopped here?"""
        return self.request.stopped_client != NOBODY

    @property
    def is_to_stay(self) -> bool:
        """Must the holder stay until the pause ends, since it would release its lock before?"""
        return (self.cell.point, self.cell.end) == (Point.BEFORE_RELEASE, End.BEFORE_EXPIRY)

    def ask_next(self) -> None:
        """Ask the next holder to stop, if it must not write; not before this one is past its own grant."""
        is_past = self.cell.point is not Point.GRANTED or self.hold.is_past_grant
        if self.cell.end is End.REGRANTED and is_past and not self.is_next_asked:
            self.is_next_asked = True
            self.next_request.arm()

    def is_over(self) -> bool:
        """Has the hold come to its aimed end?"""
        self.ask_next()
        self.end = self.hold.end()
        self.missed = LOST if self.hold.was_lost else why_missed(self.cell.end, self.end)
        return self.cell.end is not End.BEFORE_EXPIRY and has_come_to(self.end, self.cell.end)


@dataclass(frozen=True, slots=True)
class LineUp:
    """Fills the places, and pauses servers meanwhile."""

    clients: ClientFaults
    fault: PauseSpec
    aim: End  # which the pause is long enough for; others are met by luck
    places: Sequence[Place]

    def strike(self, last: int, window: Tally) -> None:
        """Pause the servers while a holder is at each place; request no stop after `last` (ns)."""
        clients, requested = self.clients, time.monotonic_ns()
        name, servers = clients.reach.recorded(self.fault.target), clients.needs(self.fault, NOBODY)
        self._line_up(last)
        came = [place for place in self.places if place.is_filled]
        filled = [place for place in came if self._is_reserved(place)]
        if filled and clients.reservations.reserve(name_of(self.fault), None, servers):
            in_force = self._in_force(filled)
            with (
                clients.reservations.released_at_end(None, servers),
                clients.observer.observed(self.fault, name, requested, in_force),
            ):
                self._wait_for_ends(filled)
        else:
            for place in filled:
                place.missed = had_servers(clients.reservations.in_the_way(None, servers))
                self._let_go(place)
        for place in came:
            if place.missed != LOST:
                window(place.missed)
        for place in self.places:
            place.request.forget()

    def _line_up(self, last: int) -> None:
        """Stop a holder at each place: at the rare points first, so that no other waits for those."""
        rare = [place for place in self.places if place.cell.point in RARE]
        others = [place for place in self.places if place not in rare]
        with ExitStack() as armed:
            for place in rare:
                armed.enter_context(place.request.armed())
            self._wait(partial(self._are_filled, all, rare), HEAD_START, last)
            for place in others:
                armed.enter_context(place.request.armed())
            self._wait(partial(self._are_filled, any, self.places), COMES, last)
            self._wait(partial(self._are_filled, all, others or rare), FOLLOW, last)
        if self.aim is End.EXPIRED:
            self._wait(self._is_a_lease_ending, 1, last)

    def _are_filled(self, enough: Callable[[Iterable[bool]], bool], places: Sequence[Place]) -> bool:
        """Are enough of some places filled, or must the others be left empty, since a lease is ending?"""
        is_late = self.aim in (End.BEFORE_EXPIRY, End.EXPIRED) and self._is_a_lease_ending()
        return is_late or enough(place.is_filled for place in places)

    def _is_a_lease_ending(self) -> bool:
        """Is little left of a lease? A pause from then on is short, so what the holders send is not lost."""
        stopped = (place.request.stopped_client for place in self.places if place.is_filled)
        ends = (self.clients.state.clients[client].lease_end for client in stopped)
        known = [end for end in ends if end]
        return bool(known) and min(known) < time.monotonic_ns() + ENDING * self.clients.ttl

    def _is_reserved(self, place: Place) -> bool:
        """Reserve the holder at a place; False if another fault has it, or others have its lock."""
        client, other = self.clients.reserve_stopped(place.request, self.fault)
        if client == NOBODY:
            place.missed = had_victim(other)
            return False
        place.hold = self.clients.endangered(client)
        if self.clients.is_lost(client):
            place.missed = LOST
            self._let_go(place)
        return place.missed != LOST

    def _let_go(self, place: Place) -> None:
        self.clients.let_go(place.hold.held.client)

    @contextmanager
    def _in_force(self, places: Sequence[Place]) -> Iterator[InjectedFault]:
        """Keep the servers stopped, but let the holders go on; and when the pause ends, the others."""
        with self.fault.in_force(self.clients.reach, lambda _length: None) as fault:
            for place in places:
                place.request.forget()
                place.ask_next()
                place.hold.begin(time.monotonic_ns())
                if not place.is_to_stay:
                    self._let_go(place)
            try:
                yield fault
                fault.until = time.monotonic_ns()  # from here on the others may release their locks, or write
            finally:
                self._let_next_go(places)
                for place in places:
                    if place.is_to_stay:
                        self._let_go(place)

    def _let_next_go(self, places: Sequence[Place]) -> None:
        for place in places:
            place.next_request.disarm()
            client, _ = self.clients.reserve_stopped(place.next_request, self.fault)
            if client != NOBODY:
                self.clients.let_go(client)
            place.next_request.forget()

    def _is_next_ending(self, place: Place) -> bool:
        """Is little left of the next holder's lease? It is under no fault, so it continues by then."""
        client = place.next_request.stopped_client
        if client == NOBODY:
            return False
        if place.next_hold is None:
            place.next_hold = self.clients.endangered(client)
            place.next_hold.begin(time.monotonic_ns())
        return place.next_hold.lease_left < LEAST * self.clients.ttl

    def _wait_for_ends(self, places: Sequence[Place]) -> None:
        """Wait until all holds have come to their aimed ends, at most for as long as that makes sense.

        A next holder cannot wait for longer than its lease lasts: then half of them are enough.
        """

        def are_over() -> bool:
            over = [place for place in places if place.is_over()]
            ending = [place for place in over if self._is_next_ending(place)]
            if ending and 2 * len(over) >= len(places):
                return True
            self._let_next_go(ending)
            return len(over) == len(places)

        self._wait(are_over, self._longest(places))

    def _longest(self, places: Sequence[Place]) -> float:
        """Return how many TTLs a pause lasts at most: if it has to outlast leases, no longer than those."""
        match self.aim:
            case End.BEFORE_EXPIRY:
                return SHORT
            case End.EXPIRED:
                left = (place.hold.lease_left for place in places if place.cell.end is End.EXPIRED)
                return SHORT + max(left, default=0) / self.clients.ttl
            case _:
                return LONGEST

    def _wait(self, condition: Callable[[], bool], ttls: float, last: float = math.inf) -> bool:
        until = min(last, time.monotonic_ns() + ttls * self.clients.ttl)
        return wait_until(condition, until, self.clients.over.is_set)
