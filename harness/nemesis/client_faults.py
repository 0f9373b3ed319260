"""Faults on clients: a pause where one stops itself, or a pause or a partition at a moment."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psutil

from harness.family import continue_all, is_stopped
from harness.nemesis.aiming import Aim
from harness.nemesis.claims import Claims
from harness.nemesis.fault import Fault
from harness.nemesis.observing import NO_HOLD, Hold, Observer
from harness.nemesis.pause import pause
from harness.nemesis.triggers import POLL, Snare, Victim, wait_until
from harness.shared_state import NOBODY, SharedState
from harness.target import PartitionSpec, PauseSpec
from harness.target.faults import ClientFault

NOT_SUPERSEDED = 3  # TTLs after which a pause ends although nobody has taken over


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFaults:
    """Hits clients, one fault at a time each, and lets them go on."""

    ttl: int  # ns
    state: SharedState
    resources: Sequence[str]
    processes: Sequence[psutil.Process]
    aim: Aim
    claims: Claims
    observer: Observer
    over: threading.Event

    def pause_at_stop_point(self, index: int, fault: PauseSpec, last: int) -> None:
        """Stop whoever reaches the stop point, one after another; set no snare after `last` (ns)."""
        snare = Snare(self.state, index, str(fault.at), Victim.named(fault.target))
        while not self.over.is_set() and time.monotonic_ns() < last:
            requested = time.monotonic_ns()
            with snare.armed():
                wait_until(lambda: snare.caught != NOBODY, last, self.over.is_set)
            client = self._claim_catch(snare)
            if client != NOBODY:
                self._keep_stopped(fault, client, requested, snare)
            snare.forget()

    def strike(self, fault: ClientFault, moments: Sequence[int], last: int, rng: random.Random) -> None:
        """Hit a holder, or the client named, at each moment (ns); or as soon after it as there is one.

        A fault begins at `last` at the latest.
        """
        for moment in moments:
            wait_until(lambda: False, moment, self.over.is_set)
            client = self._claim_victim(fault, last, rng)
            if client is not None:
                self._hit(fault, client, moment)

    def free_strays(self) -> None:
        """Continue clients that stopped for a snare which another had taken at the same moment.

        Nobody else continues a stopped client that is neither claimed nor caught, and
        none is claimed or given up meanwhile: so it is still the same stop that ends.
        """
        while not self.over.wait(10 * POLL):
            for client, process in enumerate(self.processes):
                with self.claims.lock:
                    if is_stopped(process) and client not in self.claims.clients | self._caught():
                        self._continue(client)

    def continue_everybody(self) -> None:
        """Leave none stopped."""
        for client in range(len(self.processes)):
            self._continue(client)

    def _keep_stopped(self, fault: PauseSpec, client: int, requested: int, snare: Snare) -> None:
        """Pause a client that has stopped itself, or is about to."""
        in_force = self._paused(client, stops_itself=True)
        with (
            self.claims.released_in_the_end(client),
            snare.occupying(self.state.clients[client].resource),
            self._observed(fault, client, requested, in_force),
        ):
            self._wait_for_end(fault, client)
            self.state.clients[client].stopped = 0

    def _claim_catch(self, snare: Snare) -> int:
        """Take the client that a snare caught; NOBODY if there is none, or another fault has it."""
        with self.claims.lock:
            client = snare.caught
            if client == NOBODY or self.claims.take(client):
                return client
            self.state.clients[client].stopped = 0  # it goes on when the other fault ends
            return NOBODY

    def _hit(self, fault: ClientFault, client: int, moment: int) -> None:
        in_force = self.aim.cut(fault, client) if isinstance(fault, PartitionSpec) else self._paused(client)
        with (
            self.claims.released_in_the_end(client, self.aim.needs(fault, client)),
            self._observed(fault, client, moment, in_force),
        ):
            self._wait_for_end(fault, client)

    def _claim_victim(self, fault: ClientFault, last: int, rng: random.Random) -> int | None:
        """Claim somebody to hit whom no other fault has; None when time for this fault is up."""
        victim = Victim.named(fault.target)
        found: list[int] = []

        def choose() -> bool:
            client = victim.among_holders(self.state, rng)
            with self.claims.lock:
                if client is None or client in self._caught():
                    return False
                if not self.claims.take(client, self.aim.needs(fault, client)):
                    return False
            found.append(client)
            return True

        wait_until(choose, last, self.over.is_set)
        return found[0] if found and not self.over.is_set() else None

    def _paused(self, client: int, *, stops_itself: bool = False) -> AbstractContextManager[Fault]:
        return pause(self.processes[client], f"client:{client}", stops_itself=stops_itself)

    def _wait_for_end(self, fault: ClientFault, client: int) -> None:
        now = time.monotonic_ns()
        if fault.lasts is not None:
            wait_until(lambda: False, now + fault.lasts.resolve(self.ttl), self.over.is_set)
            return
        hold = self.state.clients[client]
        taken_over = self.state.contested if fault.until == "contested" else self.state.superseded
        wait_until(
            lambda: taken_over(client, hold.resource, hold.token),
            now + NOT_SUPERSEDED * self.ttl,
            self.over.is_set,
        )

    def _observed(
        self, fault: ClientFault, client: int, requested: int, in_force: AbstractContextManager[Fault]
    ) -> AbstractContextManager[None]:
        return self.observer.observed(
            fault, f"client:{client}", requested, in_force, lambda: self._hold_of(client)
        )

    def _hold_of(self, client: int) -> Hold:
        hold = self.state.clients[client]
        return (self.resources[hold.resource], hold.owner.decode()) if hold.phase else NO_HOLD

    def _caught(self) -> set[int]:
        """The clients in a snare: a fault is about to have them."""
        return {snare.caught for snare in self.state.snares}

    def _continue(self, client: int) -> None:
        self.state.clients[client].stopped = 0
        continue_all(self.processes[client])
