"""The plan of a run: which faults the seed asked for, and when each was seen in force and healed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.nemesis.faults import FaultSpec, ServerFault
from harness.nemesis.pause import PauseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    """What the seed asks of one `[[faults]]` entry."""

    kind: str
    target: str
    at: str | None  # the stop point; None where moments are given
    moments: tuple[int, ...]  # ns after the workload's start


@dataclass(slots=True, kw_only=True)
class ObservedFault:
    """One fault as it came about; times are CLOCK_MONOTONIC ns, None while not yet seen."""

    kind: str
    target: str  # the very client, such as "client:3"
    resource: str | None
    owner: str | None
    at: str | None
    requested: int
    in_force: int | None = None
    healed: int | None = None
    evidence: str = ""
    healed_evidence: str = ""


def plan(faults: Sequence[FaultSpec], seed: int, ttl: int, duration: int) -> tuple[PlannedFault, ...]:
    """Draw the moments of every fault; the same arguments give the same plan. ns."""
    return tuple(
        PlannedFault(
            kind=fault.kind,
            target=fault.target,
            at=fault.at if isinstance(fault, PauseSpec) else None,
            moments=_moments(fault, random.Random(f"{seed}/fault/{index}"), ttl, duration),
        )
        for index, fault in enumerate(faults)
    )


def _moments(fault: FaultSpec, rng: random.Random, ttl: int, duration: int) -> tuple[int, ...]:
    """Draw one moment in each stretch, so that the fault is over before the next stretch and the end.

    What strikes servers once a run does so in its second fifth: there is something to lose by
    then, and time to see what was lost.
    """
    if isinstance(fault, ServerFault) and fault.every is None:
        return (duration // 5 + rng.randrange(duration // 5),)
    if fault.every is None or fault.lasts is None:
        return ()
    every, lasts = fault.every.resolve(ttl), fault.lasts.resolve(ttl)
    room = max(1, every - lasts)
    starts = range(0, max(0, duration - lasts), every)
    return tuple(start + rng.randrange(room) for start in starts if start + every <= duration)


@dataclass(slots=True)
class PlanLog:
    """Collects what was observed, from every thread of the nemesis, and saves it each time."""

    seed: int
    started: int  # ns; the workload's start
    duration: int  # ns
    planned: tuple[PlannedFault, ...]
    save: Callable[[dict[str, Any]], None]
    ended: int | None = None  # ns; None while the clients work, and for ever if the run was killed
    observed: list[ObservedFault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: ObservedFault) -> None:
        """Begin a fault."""
        with self._lock:
            self.observed.append(fault)

    def finished(self, now: int) -> None:
        """Note when the work ended, ns; before its time if it was interrupted."""
        with self._lock:
            self.ended = now
        self.changed()

    def changed(self) -> None:
        """Save what is known by now."""
        with self._lock:
            self.save(self.document())

    def document(self) -> dict[str, Any]:
        """Give the content of plan.json."""
        return {
            "seed": self.seed,
            "started": self.started,
            "duration": self.duration,
            "ended": self.ended,
            "planned": [asdict(each) for each in self.planned],
            "faults": [asdict(each) for each in self.observed],
        }
