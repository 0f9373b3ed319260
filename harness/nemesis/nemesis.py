"""The nemesis: carries out the plan while the clients work, one thread a fault of the target."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import psutil

from harness.events import FaultObserved
from harness.family import continue_all, is_stopped
from harness.nemesis.fault import Fault
from harness.nemesis.pause import pause
from harness.nemesis.plan import ObservedFault, PlanLog
from harness.nemesis.triggers import POLL, Snare, Victim, wait_until
from harness.shared_state import NOBODY, SharedState
from harness.target import FaultSpec, PartitionSpec, PauseSpec

NOT_SUPERSEDED = 3  # TTLs after which a pause ends although nobody has taken over
LAST_SNARE = 1.5  # TTLs before the end after which none is set: nobody could take over in time

Cut = Callable[[int, PartitionSpec], AbstractContextManager[Fault]]


@dataclass(slots=True, kw_only=True)
class Nemesis:
    """Faults in force while the `with` block lasts; every client runs again at its end."""

    faults: Sequence[FaultSpec]
    log: PlanLog
    ttl: int  # ns
    state: SharedState
    resources: Sequence[str]
    processes: Sequence[psutil.Process]
    cut: Cut  # how a client's edges are partitioned
    record: Callable[[dict[str, Any]], None]  # an event of the history
    tell: Callable[[FaultObserved], None]
    error: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _claims: threading.Lock = field(default_factory=threading.Lock)
    _busy: set[int] = field(default_factory=set)  # clients that a fault has claimed
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for index, fault in enumerate(self.faults):
            self._start(self._carry_out, index, fault)
        self._start(self._free_strays)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._continue_everybody()

    def check(self) -> None:
        """Raise what went wrong in one of the threads."""
        if self.error is not None:
            raise self.error

    def in_force(self) -> tuple[str, ...]:
        """Name the faults that are in force now, such as "pause client:3"."""
        return tuple(
            f"{fault.kind} {fault.target}"
            for fault in list(self.log.observed)
            if fault.in_force is not None and fault.healed is None
        )

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=self._guarded, args=(work, *arguments), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - raised again where the run waits
            self.error = self.error or error

    def _carry_out(self, index: int, fault: FaultSpec) -> None:
        rng = random.Random(f"{self.log.seed}/victim/{index}")
        if isinstance(fault, PauseSpec) and fault.at is not None:
            self._pause_at_stop_point(index, fault)
            return
        for moment in self.log.planned[index].moments:
            self._strike(fault, self.log.started + moment, rng)

    def _pause_at_stop_point(self, index: int, fault: PauseSpec) -> None:
        last = self.log.started + self.log.duration - round(LAST_SNARE * self.ttl)
        snare = Snare(self.state, index, str(fault.at), Victim.named(fault.target))
        while not self._over.is_set() and time.monotonic_ns() < last:
            requested = time.monotonic_ns()
            with snare.armed():
                wait_until(lambda: snare.caught != NOBODY, last, self._over.is_set)
            client = self._claim_catch(snare)
            if client != NOBODY:
                self._keep_stopped(fault, client, requested, snare)
            snare.forget()

    def _keep_stopped(self, fault: PauseSpec, client: int, requested: int, snare: Snare) -> None:
        """Pause a client that has stopped itself, or is about to."""
        with (
            self._released_in_the_end(client),
            snare.occupying(self.state.clients[client].resource),
            self._observed(fault, client, requested, self._paused(client, stops_itself=True)),
        ):
            self._wait_for_end(fault, client)
            self.state.clients[client].stopped = 0

    def _claim_catch(self, snare: Snare) -> int:
        """Take the client that a snare caught; NOBODY if there is none, or another fault has it."""
        with self._claims:
            client = snare.caught
            if client == NOBODY or self._claim(client):
                return client
            self.state.clients[client].stopped = 0  # it goes on when the other fault ends
            return NOBODY

    def _claim(self, client: int) -> bool:
        """Take a client for one fault, unless another has it; to be called with `_claims` held."""
        if client in self._busy:
            return False
        self._busy.add(client)
        self.state.clients[client].taken = 1
        return True

    @contextmanager
    def _released_in_the_end(self, client: int) -> Iterator[None]:
        """Let others have a claimed client once the block is left."""
        try:
            yield
        finally:
            with self._claims:
                self._busy.discard(client)
                self.state.clients[client].taken = 0

    def _strike(self, fault: FaultSpec, moment: int, rng: random.Random) -> None:
        """Hit a holder, or the client named, at a moment; or as soon after it as there is one."""
        wait_until(lambda: False, moment, self._over.is_set)
        client = self._victim_of(fault, rng)
        if client is None:
            return
        in_force = self._paused(client) if isinstance(fault, PauseSpec) else self.cut(client, fault)
        with self._released_in_the_end(client), self._observed(fault, client, moment, in_force):
            self._wait_for_end(fault, client)

    def _victim_of(self, fault: FaultSpec, rng: random.Random) -> int | None:
        """Claim somebody to hit whom no other fault has; None when time for this fault is up."""
        victim = Victim.named(fault.target)
        found: list[int] = []

        def choose() -> bool:
            client = victim.among_holders(self.state, rng)
            with self._claims:
                if client is not None and client not in self._caught() and self._claim(client):
                    found.append(client)
            return bool(found)

        lasts = fault.lasts.resolve(self.ttl) if fault.lasts else 0
        wait_until(choose, self.log.started + self.log.duration - lasts, self._over.is_set)
        return found[0] if found and not self._over.is_set() else None

    def _paused(self, client: int, *, stops_itself: bool = False) -> AbstractContextManager[Fault]:
        return pause(self.processes[client], f"client:{client}", stops_itself=stops_itself)

    def _wait_for_end(self, fault: FaultSpec, client: int) -> None:
        now = time.monotonic_ns()
        if fault.lasts is not None:
            wait_until(lambda: False, now + fault.lasts.resolve(self.ttl), self._over.is_set)
            return
        hold = self.state.clients[client]
        taken_over = self.state.contested if fault.until == "contested" else self.state.superseded
        wait_until(
            lambda: taken_over(client, hold.resource, hold.token),
            now + NOT_SUPERSEDED * self.ttl,
            self._over.is_set,
        )

    @contextmanager
    def _observed(
        self,
        fault: FaultSpec,
        client: int,
        requested: int,
        in_force: AbstractContextManager[Fault],
    ) -> Iterator[None]:
        """Record a fault when it is seen in force, and again when it is seen healed."""
        seen = ObservedFault(
            kind=fault.kind,
            target=f"client:{client}",
            resource=None,
            owner=None,
            at=fault.at if isinstance(fault, PauseSpec) else None,
            requested=requested,
        )
        self.log.add(seen)
        with in_force as now:
            seen.resource, seen.owner = self._hold_of(client)
            seen.evidence = now.evidence
            seen.in_force = time.monotonic_ns()
            self._record(seen, "in force", now.evidence, seen.in_force)
            yield
        seen.healed_evidence = now.healed
        seen.healed = time.monotonic_ns()
        self._record(seen, "healed", now.healed, seen.healed)

    def _hold_of(self, client: int) -> tuple[str | None, str | None]:
        hold = self.state.clients[client]
        if not hold.phase:
            return None, None
        return self.resources[hold.resource], hold.owner.decode()

    def _record(
        self, fault: ObservedFault, state: Literal["in force", "healed"], evidence: str, now: int
    ) -> None:
        value: dict[str, str | None] = {"target": fault.target, "state": state, "evidence": evidence}
        if fault.owner is not None:
            value |= {"resource": fault.resource, "owner": fault.owner}
        self.record({"time": now, "process": "nemesis", "type": "info", "f": fault.kind, "value": value})
        self.log.changed()
        self.tell(
            FaultObserved(
                kind=fault.kind,
                target=fault.target,
                state=state,
                evidence=evidence,
                elapsed=now - self.log.started,
            )
        )

    def _free_strays(self) -> None:
        """Continue clients that stopped for a snare which another had taken at the same moment.

        Nobody else continues a stopped client that is neither claimed nor caught, and
        none is claimed or given up meanwhile: so it is still the same stop that ends.
        """
        while not self._over.wait(10 * POLL):
            for client, process in enumerate(self.processes):
                with self._claims:
                    if is_stopped(process) and client not in self._busy | self._caught():
                        self._continue(client)

    def _caught(self) -> set[int]:
        """The clients in a snare: a fault is about to have them."""
        return {snare.caught for snare in self.state.snares}

    def _continue_everybody(self) -> None:
        for client in range(len(self.processes)):
            self._continue(client)

    def _continue(self, client: int) -> None:
        self.state.clients[client].stopped = 0
        continue_all(self.processes[client])
