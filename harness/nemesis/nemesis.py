"""The nemesis: carries out the plan while the clients work, with one thread per fault of the target."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from checkers.vocabulary.hazards import Cell, Point
from harness.clients.shared_state import SharedState
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.faults import FaultSpec, aims_at_hazards, begins_at_stop_point, hits_client, hits_servers
from harness.nemesis.hazard_walk import Aims, stop_requests, walk, walk_servers, walkers
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import Observer, PlanLog
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Reservations
from harness.nemesis.server_faults import ServerFaults
from harness.nemesis.triggers import unreached

LAST_STOP = 1.5  # TTLs before the end, after which no stop is requested: no client could take over in time


def latest_begin(fault: FaultSpec, end: int, ttl: int) -> int:
    """The last moment at which a fault may begin in a workload that ends at `end`; all in ns.

    A client that stops itself needs another one to take over. A fault on servers that waits for nobody only
    has to be over by then.
    """
    last = end - (fault.lasts.resolve(ttl) if fault.lasts else 0)
    if begins_at_stop_point(fault) and (fault.until is not None or not hits_servers(fault)):
        return min(last, end - round(LAST_STOP * ttl))
    return last


@dataclass(slots=True, kw_only=True)
class Nemesis:
    """Injects faults during the `with` block; at its end every client runs again."""

    faults: Sequence[FaultSpec]
    ttl: int  # ns
    state: SharedState
    resources: Sequence[str]
    reach: FaultReach
    observer: Observer
    overlap: bool = True  # may several faults be in force on one side?
    reported: AbstractSet[Point] = frozenset()  # the points that the user's class or program reports, or not
    error: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _clients: ClientFaults = field(init=False)
    _servers: ServerFaults = field(init=False)
    _requests: Sequence[int] = field(init=False)  # the first stop request of each fault

    def __post_init__(self) -> None:
        self._requests = stop_requests(self.faults, len(self.state.clients), self.state.resources)
        self._clients = ClientFaults(
            ttl=self.ttl,
            state=self.state,
            resources=self.resources,
            reach=self.reach,
            reservations=Reservations(self.state),
            observer=self.observer,
            over=self._over,
            overlap=self.overlap,
            unreached=partial(unreached, self.state, self.reported),
        )
        self._servers = ServerFaults(self._clients)

    @property
    def log(self) -> PlanLog:
        """The plan, and the observed faults."""
        return self.observer.log

    def __enter__(self) -> Self:
        for index, fault in enumerate(self.faults):
            self._start(self._carry_out, index, fault)
        self._start(self._clients.continue_unclaimed)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._clients.continue_all()
        self.log.changed()  # with the last windows

    def check(self) -> None:
        """Raise the first error of the threads."""
        if self.error is not None:
            raise self.error

    def in_force(self) -> tuple[str, ...]:
        """Return the faults in force now, such as "pause client:3"."""
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

    def _walk(self, index: int, fault: PauseSpec, end: int) -> None:
        """Aim at the hazards of a fault on several resources at once."""
        cells = tuple(map(Cell.named, self.log.planned[index].hazards))
        resources = walkers(fault, len(self.state.clients), self.state.resources) if cells else ()
        aims = Aims(cells, len(resources), partial(self.log.window, index), self._clients.unreached)
        first = self._requests[index]
        if hits_servers(fault):
            walk_servers(self._clients, first, fault, resources, aims, end)
            return
        for request, resource in enumerate(resources, start=first):
            self._start(walk, self._clients, request, fault, resource, aims, end)

    def _carry_out(self, index: int, fault: FaultSpec) -> None:
        tally = partial(self.log.window, index)
        end = self.log.started + self.log.duration
        if aims_at_hazards(fault):
            self._walk(index, fault, end)
            return
        moments = [self.log.started + moment for moment in self.log.planned[index].moments]
        last = latest_begin(fault, end, self.ttl)
        if begins_at_stop_point(fault):
            request = self._requests[index]
            if fault.every is None:
                last_stop = end - round(LAST_STOP * self.ttl)
                self._clients.strike_at_each_stop(request, fault, last_stop, tally)
            else:
                self._clients.strike_at_next_stop(request, fault, moments, last, tally)
        elif hits_client(fault):
            rng = random.Random(f"{self.log.seed}/victim/{index}")
            self._clients.strike(fault, moments, last, rng, tally)
        elif hits_servers(fault):
            self._servers.strike(fault, moments, last, tally)
