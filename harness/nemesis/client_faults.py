"""Faults on clients: at stop points, and at seeded moments."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from harness.clients.shared_state import NOBODY, SharedState
from harness.nemesis.fault import Fault
from harness.nemesis.faults import ClientFault, hits_servers
from harness.nemesis.fields import WAITER
from harness.nemesis.observer import NO_HOLD, Hold, Observer
from harness.nemesis.overlap import sides_hit
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import NOTHING, Need, Reservations
from harness.nemesis.triggers import POLL, StopRequest, Victim, wait_until
from harness.nemesis.windows import LOST, NO_ROOM, NO_STOP, NO_TAKEOVER, NO_VICTIM, TAKEN, WENT_FURTHER, Tally
from harness.processes.process_tree import continue_all, is_stopped, wait_until_stopped

Condition = Callable[[], bool]

PATIENCE = 4  # per TTL; how long a stopped holder waits for another client to wait for its lock
NOT_SUPERSEDED = 3  # TTLs after which a fault ends even if no client has taken over


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFaults:
    """Injects faults on clients, at most one at a time on each."""

    ttl: int  # ns
    state: SharedState
    resources: Sequence[str]
    reach: Reach
    reservations: Reservations
    observer: Observer
    over: threading.Event
    overlap: bool = True  # may several faults be in force on one side?

    def strike_at_each_stop(self, index: int, fault: ClientFault, last: int, window: Tally) -> None:
        """Hit the clients that reach the stop point, one at a time; request no stop after `last` (ns).

        A fault on servers, or on a waiter, begins while a holder is there.
        """
        request = self._request(index, fault)
        while not self.over.is_set() and time.monotonic_ns() < last:
            self.strike_once(fault, request, last, window)

    def strike_at_next_stop(
        self, index: int, fault: ClientFault, moments: Sequence[int], last: int, window: Tally
    ) -> None:
        """Hit the client that reaches the stop point next after each moment (ns), as above."""
        request = self._request(index, fault)
        for moment in moments:
            wait_until(lambda: False, moment, self.over.is_set)
            if not self.over.is_set():
                self.strike_once(fault, request, last, window, drawn=True)

    def _request(self, index: int, fault: ClientFault) -> StopRequest:
        return StopRequest(self.state, index, str(fault.at), Victim.of_holder(fault.target))

    def strike_once(
        self,
        fault: ClientFault,
        request: StopRequest,
        last: int,
        window: Tally,
        *,
        first_of_hold: bool = False,
        drawn: bool = False,
    ) -> bool:
        """Hit the client that reaches the stop point first; return whether the fault ended as it should.

        No stop is requested after `last` (ns). `first_of_hold`: not a client whose lock others have by now.
        `drawn`: it is a window of its own, also if no client comes.
        """
        if not wait_until(partial(self._is_free, fault), last, self.over.is_set):
            if drawn:
                window(NO_ROOM)
            return False
        requested = time.monotonic_ns()
        with request.armed():
            wait_until(lambda: request.stopped_client != NOBODY, last, self.over.is_set)
        came = request.stopped_client != NOBODY
        client = self._reserve_stopped(fault, request)
        as_aimed = False
        why: str | None = TAKEN
        if client != NOBODY and first_of_hold and self._is_lost(client):
            with self.reservations.released_at_end(client, self._needs(fault, client)):
                self._go_on(client)
            why = LOST
        elif client != NOBODY:
            victim = self._reserve_waiter(client) if fault.target == WAITER else None
            if fault.target == WAITER and victim is None:
                with self.reservations.released_at_end(client, self._needs(fault, client)):
                    self._go_on(client)
                why = NO_VICTIM
            else:
                as_aimed = self._hit_stopped(fault, client, requested, request, victim)
                is_open = fault.until is None and not first_of_hold  # whatever happens meanwhile is fine
                why = None if as_aimed or is_open else _why_not_as_aimed(fault)
        if came or drawn:
            window(why if came else NO_STOP)
        request.forget()
        return as_aimed

    def strike(
        self, fault: ClientFault, moments: Sequence[int], last: int, rng: random.Random, window: Tally
    ) -> None:
        """Hit a holder, or the named client, at each moment (ns), or as soon after it as possible.

        A fault begins at `last` at the latest.
        """
        for moment in moments:
            wait_until(lambda: False, moment, self.over.is_set)
            if self.over.is_set():
                return
            client = self._reserve_victim(fault, last, rng)
            window(NO_VICTIM if client is None else None)
            if client is not None:
                self._hit(fault, client, moment)

    def continue_unclaimed(self) -> None:
        """Continue clients that stopped for a request that another client took at the same moment.

        Nothing else continues a stopped client that is neither reserved nor stopping at a request. Under
        the lock none is reserved or released, so it is still the same stop.
        """
        while not self.over.wait(10 * POLL):
            for client, process in enumerate(self.reach.processes):
                with self.reservations.lock:
                    if is_stopped(process) and client not in self.reservations.clients | self._stopping():
                        self._continue(client)

    def continue_all(self) -> None:
        """Continue every client."""
        for client in range(len(self.reach.processes)):
            self._continue(client)

    def _needs(self, fault: ClientFault, client: int) -> AbstractSet[Need]:
        """Return everything that a fault reserves, but the client."""
        needs = fault.needs(self.reach) if hits_servers(fault) else fault.needs(self.reach, client)
        return needs | self._sides(fault)

    def _sides(self, fault: ClientFault) -> AbstractSet[Need]:
        return NOTHING if self.overlap else sides_hit(fault, self.reach.sides)

    def _is_free(self, fault: ClientFault) -> bool:
        """Is everything free that is known before the client is?"""
        servers = fault.needs(self.reach) if hits_servers(fault) else NOTHING
        return self.reservations.are_free(servers | self._sides(fault))

    def _hit_stopped(
        self, fault: ClientFault, client: int, requested: int, request: StopRequest, victim: int | None
    ) -> bool:
        """Hit a client that has stopped itself or is about to; or servers, or another client, `victim`.

        Return whether the fault ended in time.
        """
        is_over, is_too_late = self._ends(fault, client)
        go_on = partial(self._go_on, client)
        in_force: AbstractContextManager[Fault]
        name, hold = f"client:{client}", self._hold_of(client)
        if hits_servers(fault):
            name, hold = self.reach.recorded(fault.target), NO_HOLD
            in_force = _then(fault.in_force(self.reach, lambda _length: None), go_on)
        elif victim is not None:
            name, hold = f"client:{victim}", NO_HOLD
            in_force = _then(fault.in_force_on(self.reach, victim, None), go_on)
        else:
            in_force = fault.in_force_on(self.reach, client, go_on)
        with (
            self.reservations.released_at_end(client, self._needs(fault, client)),
            nullcontext() if victim is None else self.reservations.released_at_end(victim),
            self._resource_reserved(fault, client, request),
            self.observer.observed(fault, name, requested, in_force, lambda: hold),
        ):
            self._wait_for_end(fault, partial(is_over, time.monotonic_ns()))
            as_aimed = not is_too_late()
            self.state.clients[client].stopped = 0
        return as_aimed

    def _reserve_waiter(self, holder: int) -> int | None:
        """Reserve a client that waits for what a stopped holder holds; None if none comes soon."""
        resource = self.state.clients[holder].resource
        found: list[int] = []

        def choose() -> bool:
            waiting = (
                client
                for client in self.reach.clients
                if client != holder and self.state.clients[client].awaited == resource + 1
            )
            found.extend(client for client in waiting if not found and self.reservations.reserve(client))
            return bool(found)

        wait_until(choose, time.monotonic_ns() + self.ttl // PATIENCE, self.over.is_set)
        return found[0] if found else None

    def _resource_reserved(
        self, fault: ClientFault, client: int, request: StopRequest
    ) -> AbstractContextManager[None]:
        """Reserve the resource for the client's successor; a fault without an end reserves none."""
        if fault.until is None and fault.lasts is None:
            return nullcontext()
        return request.reserving(self.state.clients[client].resource)

    def _go_on(self, client: int) -> None:
        """Continue a client that has stopped itself or is about to."""
        wait_until_stopped(self.reach.processes[client])
        self._continue(client)

    def _reserve_stopped(self, fault: ClientFault, request: StopRequest) -> int:
        """Reserve the client that stopped itself; NOBODY if there is none, or it is reserved already."""
        with self.reservations.lock:
            client = request.stopped_client
            if client == NOBODY or self.reservations.reserve(client, self._needs(fault, client)):
                return client
            self.state.clients[client].stopped = 0  # it continues when the other fault ends
            return NOBODY

    def _hit(self, fault: ClientFault, client: int, moment: int) -> None:
        in_force = fault.in_force_on(self.reach, client, None)
        with (
            self.reservations.released_at_end(client, self._needs(fault, client)),
            self._observed(fault, client, moment, in_force, lambda: self._hold_of(client)),
        ):
            self._wait_for_end(fault, lambda: False)

    def _reserve_victim(self, fault: ClientFault, last: int, rng: random.Random) -> int | None:
        """Reserve a client that no other fault has reserved; None if this fault's time is up."""
        victim = Victim.named(fault.target)
        found: list[int] = []

        def choose() -> bool:
            client = victim.among_holders(self.state, fault.when, rng)
            with self.reservations.lock:
                if client is None or client in self._stopping():
                    return False
                if not self.reservations.reserve(client, self._needs(fault, client)):
                    return False
            found.append(client)
            return True

        wait_until(choose, last, self.over.is_set)
        return found[0] if found and not self.over.is_set() else None

    def _ends(self, fault: ClientFault, client: int) -> tuple[Callable[[int], bool], Condition]:
        """Return the condition that ends a fault early, and the one that says that more has happened by then.

        Both are of the client's present hold: once it goes on, it may soon have another. The first gets the
        moment (ns) since which the fault has been in force.
        """
        state, hold = self.state, self.state.clients[client]
        of_hold = (client, hold.resource, hold.token)
        superseded, regranted = partial(state.superseded, *of_hold), partial(state.regranted, *of_hold)
        match fault.until:
            case "superseded":
                return lambda _since: superseded(), lambda: not superseded()
            case "contested":
                return lambda _since: state.contested(*of_hold), superseded
            case "regranted":
                return lambda _since: regranted(), superseded
            case "expired":
                return partial(self._is_expired, client), regranted
            case _:
                return lambda _since: False, regranted

    def _is_lost(self, client: int) -> bool:
        hold = self.state.clients[client]
        return self.state.regranted(client, hold.resource, hold.token)

    def _is_expired(self, client: int, since: int) -> bool:
        """Is a client's lease of that moment (ns) over? One that is not known lasts a TTL from there."""
        known = self.state.clients[client].lease_end
        return time.monotonic_ns() > (known if known > since else since + self.ttl)

    def _wait_for_end(self, fault: ClientFault, is_over: Condition) -> None:
        longest: float = math.inf
        if fault.lasts is not None:
            longest = fault.lasts.resolve(self.ttl)
        elif fault.until is not None:
            longest = NOT_SUPERSEDED * self.ttl
        wait_until(is_over, time.monotonic_ns() + longest, self.over.is_set)

    def _observed(
        self,
        fault: ClientFault,
        client: int,
        requested: int,
        in_force: AbstractContextManager[Fault],
        hold: Callable[[], Hold],
    ) -> AbstractContextManager[None]:
        return self.observer.observed(fault, f"client:{client}", requested, in_force, hold)

    def _hold_of(self, client: int) -> Hold:
        hold = self.state.clients[client]
        return (self.resources[hold.resource], hold.owner.decode()) if hold.phase else NO_HOLD

    def _stopping(self) -> set[int]:
        """Return the clients that are stopping at a request: a fault is about to reserve them."""
        return {request.stopped_client for request in self.state.stop_requests}

    def _continue(self, client: int) -> None:
        self.state.clients[client].stopped = 0
        continue_all(self.reach.processes[client])


def _why_not_as_aimed(fault: ClientFault) -> str:
    return NO_TAKEOVER if fault.until == "superseded" else WENT_FURTHER


@contextmanager
def _then(in_force: AbstractContextManager[Fault], go_on: Callable[[], None]) -> Iterator[Fault]:
    """Let a holder go on once a fault on others is in force."""
    with in_force as fault:
        if fault.since is None:
            fault.since = time.monotonic_ns()  # the holder is still there
        go_on()
        yield fault
