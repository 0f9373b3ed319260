"""Faults on clients: at stop points, and at seeded moments."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from checkers.vocabulary.hazards import End
from harness.clients.shared_state import ANY, NOBODY, SharedState
from harness.nemesis import windows
from harness.nemesis.endangered_hold import EndangeredHold, has_come_to, why_missed
from harness.nemesis.fault import InForce, then
from harness.nemesis.faults import ClientFault, ServerFault, hits_servers, name_of, sides_hit
from harness.nemesis.fields import WAITER
from harness.nemesis.plan import NO_HOLD, Hold, Observer
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import NOTHING, Needs, Reservations
from harness.nemesis.stop import StopSpec
from harness.nemesis.stop_points import aim_of
from harness.nemesis.triggers import POLL, StopRequest, Victim, wait_until
from harness.processes.process_tree import continue_all, has_ended, is_stopped, wait_until_stopped

PATIENCE = 4  # per TTL; how long a stopped holder waits for another client to wait for its lock
Reserved = tuple[int | None, str | None]  # the client; or none, and why
NOT_SUPERSEDED = 3  # TTLs after which a fault ends even if no client has taken over


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFaults:
    """Injects faults on clients, at most one at a time on each."""

    ttl: int  # ns
    state: SharedState
    resources: Sequence[str]
    reach: FaultReach
    reservations: Reservations
    observer: Observer
    over: threading.Event
    overlap: bool = True  # may several faults be in force on one side?
    unreached: Callable[[], AbstractSet[str]] = frozenset  # the stop points to which clients never come

    def strike_at_each_stop(self, index: int, fault: ClientFault, last: int, window: windows.Tally) -> None:
        """Hit the clients that reach the stop point, one at a time; request no stop after `last` (ns).

        A fault on servers, or on a waiter, begins while a holder is there.
        """
        request = self._request(index, fault)
        while not self._is_in_vain(request) and time.monotonic_ns() < last:
            self.strike_once(fault, request, last, window)

    def strike_at_next_stop(
        self, index: int, fault: ClientFault, moments: Sequence[int], last: int, window: windows.Tally
    ) -> None:
        """Hit the client that reaches the stop point next after each moment (ns), as above."""
        request = self._request(index, fault)
        for _ in windows.each_moment(moments, self.over.is_set, window):
            self.strike_once(fault, request, last, window, drawn=True)

    def _is_in_vain(self, request: StopRequest) -> bool:
        """Will no client stop at a request, because the run is over, or no client ever comes there?"""
        return self.over.is_set() or request.point in self.unreached()

    def _request(self, index: int, fault: ClientFault) -> StopRequest:
        return StopRequest(self.state, index, str(fault.at), Victim.of_holder(fault.target))

    def strike_once(
        self,
        fault: ClientFault,
        request: StopRequest,
        last: int,
        window: windows.Tally,
        *,
        first_of_hold: bool = False,
        drawn: bool = False,
    ) -> bool:
        """Hit the client that reaches the stop point first; return whether the fault ended as it should.

        No stop is requested after `last` (ns). A holder that has lost its lock by now is let go, and the
        next one is awaited; so is with `first_of_hold` one at which other faults aim.
        `drawn`: it is a window of its own, also if no client comes.
        """
        missed: str | None = windows.LOST
        while missed == windows.LOST:
            came, missed = self._strike_next(fault, request, last, first_of_hold=first_of_hold)
        if came or drawn:
            window(missed)
        return missed is None

    def _strike_next(
        self, fault: ClientFault, request: StopRequest, last: int, *, first_of_hold: bool
    ) -> tuple[bool, str | None]:
        """Hit the client that stops next; return whether one came, and why it was missed."""
        if not wait_until(lambda: self.is_free(fault), last, self.over.is_set):
            return False, windows.had_servers(self._in_the_way(fault))
        requested = time.monotonic_ns()
        with request.armed():
            wait_until(lambda: request.stopped_client != NOBODY, last, partial(self._is_in_vain, request))
        came = request.stopped_client != NOBODY
        client, other = self.reserve_stopped(request, fault, partial(self.needs, fault))
        missed: str | None = windows.had_victim(other) if came else windows.NO_STOP
        endangers_holder = not hits_servers(fault) and fault.target != WAITER
        if client != NOBODY:
            victim, missed = None, None
            if (first_of_hold or endangers_holder) and self.is_lost(client):
                missed = windows.LOST
            elif fault.target == WAITER:
                victim, missed = self._reserve_waiter(fault, client)
            if missed:
                self.let_go(client, self.needs(fault, client))
            else:
                end = self._hit_stopped(fault, client, requested, request, victim)
                if end is None:
                    missed = windows.LOST
                elif fault.until or first_of_hold:  # else whatever happens meanwhile is fine
                    missed = why_missed(aim_of(fault), end)
        request.forget()
        return came, missed

    def strike(
        self, fault: ClientFault, moments: Sequence[int], last: int, rng: random.Random, window: windows.Tally
    ) -> None:
        """Hit a holder, or the named client, at each moment (ns) or soon after; by `last` at the latest."""
        for moment in windows.each_moment(moments, self.over.is_set, window):
            client, missed = self._reserve_victim(fault, last, rng)
            if client is None or self._hits(fault, client, moment):
                window(missed)

    def continue_unclaimed(self) -> None:
        """Continue clients that stopped for a request that another client took at the same moment.

        Nothing else continues a stopped client that is neither reserved nor stopping at a request. Under
        the lock none is reserved or released, so it is still the same stop.
        """
        while not self.over.wait(10 * POLL):
            for client, process in enumerate(self.reach.processes):
                with self.reservations.lock:
                    if is_stopped(process) and client not in {*self.reservations.clients, *self._stopping()}:
                        self._continue(client)

    def continue_all(self) -> None:
        """Continue every client."""
        for client in range(len(self.reach.processes)):
            self._continue(client)

    def needs(self, fault: ClientFault, client: int) -> Needs:
        """Return everything that a fault reserves, but the client; for servers, that is any."""
        needs = fault.needs(self.reach) if hits_servers(fault) else fault.needs(self.reach, client)
        return needs | self.sides(fault)

    def sides(self, fault: ClientFault | ServerFault) -> Needs:
        """Return the sides that a fault reserves."""
        return NOTHING if self.overlap else sides_hit(fault, self.reach.sides)

    def is_free(self, fault: ClientFault) -> bool:
        """Is everything free that is known before the client is?"""
        return self._in_the_way(fault) is None

    def _in_the_way(self, fault: ClientFault) -> str | None:
        servers = fault.needs(self.reach) if hits_servers(fault) else NOTHING
        return self.reservations.in_the_way(None, servers | self.sides(fault))

    def _hit_stopped(
        self, fault: ClientFault, client: int, requested: int, request: StopRequest, victim: int | None
    ) -> End | None:
        """Hit a client that has stopped itself or is about to; or servers, or another client, `victim`.

        Return what had become of the hold of the stopped client when the fault ended; None if it was
        lost before.
        """
        endangered = self.endangered(client)
        go_on = partial(self._go_on, client)
        in_force: InForce
        name, hold = f"client:{client}", self._hold_of(client)
        if hits_servers(fault):
            name, hold = self.reach.recorded(fault.target), NO_HOLD
            in_force = then(fault.in_force(self.reach, lambda _length: None), go_on)
        elif victim is not None:
            name, hold = f"client:{victim}", NO_HOLD
            in_force = then(fault.in_force_on(self.reach, victim, None), go_on)
        else:
            in_force = fault.in_force_on(self.reach, client, go_on)
        with (
            self.reservations.released_at_end(client, self.needs(fault, client)),
            nullcontext() if victim is None else self.reservations.released_at_end(victim),
            self._resource_reserved(fault, client, request),
            self.observer.observed(fault, name, requested, in_force, lambda: hold) as since,
        ):
            endangered.begin(since)
            is_lost = endangered.was_lost and not hits_servers(fault)
            if not is_lost:
                self._wait_for_end(fault, partial(self._is_over, fault, endangered))
            end = endangered.end()
            self.state.clients[client].stopped = 0
        return None if is_lost else end

    def _reserve_waiter(self, fault: ClientFault, holder: int) -> Reserved:
        """Reserve a client that waits for what a stopped holder holds, if one comes soon."""
        resource = self.state.clients[holder].resource

        def waiting() -> list[int]:
            awaited = enumerate(each.awaited for each in self.state.clients)
            return [client for client, what in awaited if client != holder and what == resource + 1]

        until = time.monotonic_ns() + self.ttl // PATIENCE
        return self._reserve_first(fault, waiting, lambda _: NOTHING, until, windows.NO_WAITER)

    def _reserve_first(
        self,
        fault: ClientFault,
        fitting: Callable[[], Iterable[int]],
        needs: Callable[[int], Needs],
        last: int,
        why: str,
    ) -> Reserved:
        """Reserve the first fitting client that is free by then; else say why not: `why`, if none fitted."""
        found: list[int] = []

        def is_reserved() -> bool:
            nonlocal why
            for client in () if self.over.is_set() else fitting():
                with self.reservations.lock:
                    if client in self._stopping():
                        continue
                    if self.reservations.reserve(name_of(fault), client, needs(client)):
                        found.append(client)
                        return True
                    why = windows.had_victim(self.reservations.in_the_way(client, needs(client)))
            return False

        wait_until(is_reserved, last, self.over.is_set)
        return (found[0], None) if found else (None, why)

    def _resource_reserved(
        self, fault: ClientFault, client: int, request: StopRequest
    ) -> AbstractContextManager[None]:
        """Reserve the resource for the client's successor; a fault without an end reserves none."""
        if fault.until is None and fault.lasts is None:
            return nullcontext()
        return request.reserving(self.state.clients[client].resource)

    def let_go(self, client: int, needs: Needs = NOTHING) -> None:
        """Continue a client that has stopped itself or is about to, and release what was reserved with it."""
        with self.reservations.released_at_end(client, needs):
            self._go_on(client)

    def _go_on(self, client: int) -> None:
        wait_until_stopped(self.reach.processes[client])
        self._continue(client)

    def reserve_stopped(
        self,
        request: StopRequest,
        fault: ClientFault,
        needs: Callable[[int], Needs] = lambda _client: NOTHING,
    ) -> tuple[int, str | None]:
        """Reserve the client that stopped itself, and what it takes to hit it.

        If that is not free, return NOBODY, and the fault that is in the way.
        """
        with self.reservations.lock:
            client = request.stopped_client
            if client == NOBODY or self.reservations.reserve(name_of(fault), client, needs(client)):
                return client, None
            self.state.clients[client].stopped = 0  # it continues when the other fault ends
            return NOBODY, self.reservations.in_the_way(client, needs(client))

    def _hits(self, fault: ClientFault, client: int, moment: int) -> bool:
        """Hit a client; return whether that endangered its hold, or hit a client that waits for a lock."""
        in_force = fault.in_force_on(self.reach, client, None)
        with (
            self.reservations.released_at_end(client, self.needs(fault, client)),
            self.observer.observed(
                fault, f"client:{client}", moment, in_force, lambda: self._hold_of(client)
            ) as since,
        ):
            hold = self.endangered(client)
            hits = hold.begin(since)
            self._wait_for_end(fault, partial(self._is_over, fault, hold))
        return hits

    def _reserve_victim(self, fault: ClientFault, last: int, rng: random.Random) -> Reserved:
        """Reserve a client that no other fault has reserved, before this fault's time is up."""
        victim = Victim.named(fault.target)

        def fitting() -> tuple[int, ...]:
            client = victim.among_holders(self.state, fault.when, rng)
            return () if client is None or (victim.client == ANY and self.is_lost(client)) else (client,)

        why = windows.NO_HOLDER if fault.when is None else windows.NO_MOMENT
        return self._reserve_first(fault, fitting, partial(self.needs, fault), last, why)

    def endangered(self, client: int) -> EndangeredHold:
        """Return the present hold of a client."""
        return EndangeredHold.of(client, self.state, self.ttl)

    def is_lost(self, client: int) -> bool:
        """Has a client lost the lock that it holds, so that no fault endangers it any more?"""
        return self.endangered(client).is_lost

    def _is_over(self, fault: ClientFault, hold: EndangeredHold) -> bool:
        """Has what ends a fault early happened?"""
        if isinstance(fault, StopSpec):
            return has_ended(self.reach.processes[hold.held.client])
        if fault.until == "contested":
            return self.state.contested(hold.held)
        if fault.until == "freed":
            return self.state.freed(hold.held)
        return fault.until is not None and has_come_to(hold.end(), aim_of(fault))

    def _wait_for_end(self, fault: ClientFault, is_over: Callable[[], bool]) -> None:
        longest: float = math.inf
        if fault.lasts is not None:
            longest = fault.lasts.resolve(self.ttl)
        elif fault.until is not None:
            longest = NOT_SUPERSEDED * self.ttl
        wait_until(is_over, time.monotonic_ns() + longest, self.over.is_set)

    def _hold_of(self, client: int) -> Hold:
        hold = self.state.clients[client]
        return (self.resources[hold.resource], hold.owner.decode()) if hold.phase else NO_HOLD

    def _stopping(self) -> set[int]:
        """Return the clients that are stopping at a request: a fault is about to reserve them."""
        return {request.stopped_client for request in self.state.stop_requests}

    def _continue(self, client: int) -> None:
        self.state.clients[client].stopped = 0
        continue_all(self.reach.processes[client])
