"""The phase in which the clients work under faults, with progress events."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from checkers.vocabulary.hazards import Point
from harness.clients.pool import ClientPool
from harness.clients.recorder import Recorder
from harness.core.duration import NS
from harness.core.events import Event, FaultObserved, Progress, StageReached
from harness.engines.engine import Cluster
from harness.files.run_folder import EVENTS, PLAN, RunFolder
from harness.nemesis.faults import FaultSpec
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.plan import Observer, PlanLog, PlannedFault
from harness.nemesis.reach import FaultReach
from harness.nemesis.triggers import unreached
from harness.run.deployment import places
from harness.spec import Target
from harness.spec.hazards import points_reported

TICK = 0.1  # seconds between two checks
SERVERS = NS["s"]  # ns between two checks of the servers


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPhase:
    """Clients that are ready, and the faults for them."""

    target: Target
    faults: Sequence[FaultSpec]
    planned: tuple[PlannedFault, ...]
    seed: int
    folder: RunFolder
    cluster: Cluster
    clients: ClientPool

    def run(self, interrupted: threading.Event) -> Iterator[Event]:
        """Let the clients work under faults, for the target's duration or until interrupted."""
        duration = self.target.workload.duration
        log = PlanLog(
            seed=self.seed,
            started=time.monotonic_ns(),
            duration=duration,
            planned=self.planned,
            save=lambda document: self.folder.write_json(PLAN, document),
        )
        log.changed()
        observed: queue.SimpleQueue[FaultObserved] = queue.SimpleQueue()
        recorder = Recorder(self.folder.path / EVENTS / "nemesis.jsonl")
        nemesis = self._nemesis(log, recorder, observed)
        with nemesis:
            self.clients.state.run.started = log.started
            looked = log.started
            while (elapsed := time.monotonic_ns() - log.started) < duration and not interrupted.is_set():
                self.clients.check()
                nemesis.check()
                if time.monotonic_ns() > looked + SERVERS:
                    self.cluster.check()
                    looked = time.monotonic_ns()
                yield from _drained(observed)
                yield self._progress(nemesis, elapsed)
                interrupted.wait(min(TICK, (duration - elapsed) / NS["s"]))
            log.finished(time.monotonic_ns())
            if interrupted.is_set():
                detail = "stopping the clients, then judging the recording"
                yield StageReached(stage="interrupted", detail=detail)
        self.clients.finish()
        recorder.close()
        nemesis.check()
        self.cluster.check()
        yield from _drained(observed)
        yield self._progress(nemesis, min(elapsed, duration))

    @property
    def unreached(self) -> AbstractSet[Point]:
        """The points to which no client came, though it could have."""
        return unreached(self.clients.state, points_reported(self.target))

    def _nemesis(self, log: PlanLog, recorder: Recorder, seen: queue.SimpleQueue[FaultObserved]) -> Nemesis:
        return Nemesis(
            faults=self.faults,
            ttl=self.target.lock.ttl,
            state=self.clients.state,
            resources=places(self.target),
            reach=FaultReach(
                cluster=self.cluster,
                sides=self.target.sides,
                processes=self.clients.handles,
                ended_by_faults=self.clients.ended_by_faults,
                start_again=self.clients.start_again,
                state=self.clients.state,
            ),
            observer=Observer(log=log, record=recorder.record, notify=seen.put),
            overlap=self.target.overlap,
            reported=points_reported(self.target),
        )

    def _progress(self, nemesis: Nemesis, elapsed: int) -> Progress:
        state = self.clients.state
        return Progress(
            elapsed=elapsed,
            duration=self.target.workload.duration,
            operations=sum(state.operations),
            writes_accepted=sum(state.writes[0::2]),
            writes_refused=sum(state.writes[1::2]),
            faults=nemesis.in_force(),
        )


def _drained(observed: queue.SimpleQueue[FaultObserved]) -> Iterator[Event]:
    while not observed.empty():
        yield observed.get()
