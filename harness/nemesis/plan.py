"""The plan of a run: the faults drawn from the seed, and when each was observed in force and healed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.nemesis import hazard_order
from harness.nemesis.delay import DelaySpec
from harness.nemesis.faults import FaultSpec, aims_at_hazards, begins_at_each_stop, name_of
from harness.nemesis.windows import Windows


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    """One `[[faults]]` entry with the moments drawn from the seed."""

    kind: str
    target: str
    at: str | None  # the stop point
    moments: tuple[int, ...]  # ns after the workload's start; from each on, it strikes once
    hazards: tuple[str, ...] = ()  # those that it aims at, in this order

    @property
    def named(self) -> str:
        """Such as "pause holder before-write"."""
        return name_of(self)


@dataclass(slots=True, kw_only=True)
class ObservedFault:
    """One observed fault; times are CLOCK_MONOTONIC ns, None until observed."""

    kind: str
    target: str  # the actual client, such as "client:3"
    resource: str | None
    owner: str | None
    at: str | None
    requested: int
    in_force: int | None = None
    healed: int | None = None
    evidence: str = ""
    healed_evidence: str = ""


def plan(
    faults: Sequence[FaultSpec], seed: int, ttl: int, duration: int, possible: Container[str] = ()
) -> tuple[PlannedFault, ...]:
    """Draw the moments (ns) of every fault, or the order of its hazards.

    The same arguments give the same plan. `possible` are the hazards that the target can produce.
    """
    return tuple(
        PlannedFault(
            kind=fault.kind,
            target=fault.target,
            at=fault.at,
            moments=_moments(fault, random.Random(f"{seed}/fault/{index}"), ttl, duration),
            hazards=_hazards(fault, possible, random.Random(f"{seed}/hazards/{index}")),
        )
        for index, fault in enumerate(faults)
    )


def _moments(fault: FaultSpec, rng: random.Random, ttl: int, duration: int) -> tuple[int, ...]:
    """Draw one moment in each interval, so that the fault ends before the next interval and the end.

    A fault that strikes once per run does so in its second fifth: by then there is data to
    lose, and there is time left to observe the loss.
    """
    if begins_at_each_stop(fault) or aims_at_hazards(fault):
        return ()
    if fault.every is None:
        return (duration // 5 + rng.randrange(duration // 5),)
    if fault.lasts is None:
        return ()
    every, lasts = fault.every.resolve(ttl), fault.lasts.resolve(ttl) + _begun_over(fault)
    room = max(1, every - lasts)
    starts = range(0, max(0, duration - lasts), every)
    return tuple(start + rng.randrange(room) for start in starts if start + every <= duration)


def _begun_over(fault: FaultSpec) -> int:
    """Return how long a fault takes to begin, ns: until the last link is late."""
    return (fault.over or 0) if isinstance(fault, DelaySpec) else 0


def _hazards(fault: FaultSpec, possible: Container[str], rng: random.Random) -> tuple[str, ...]:
    """Put the hazards that a fault aims at in a random order, but as far as they differ in that of a walk."""
    if not aims_at_hazards(fault):
        return ()
    cells = [cell for cell in fault.cells if str(cell) in possible]
    rng.shuffle(cells)
    return tuple(str(cell) for cell in sorted(cells, key=hazard_order.place))


@dataclass(slots=True)
class PlanLog:
    """Collects observations from all threads of the nemesis, and saves each one."""

    seed: int
    started: int  # ns; the workload's start
    duration: int  # ns
    planned: tuple[PlannedFault, ...]
    save: Callable[[dict[str, Any]], None]
    ended: int | None = None  # ns; None while the clients work, and if the run was killed
    observed: list[ObservedFault] = field(default_factory=list)
    windows: dict[str, Windows] = field(init=False)  # of the planned faults, by what they are called
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.windows = {each.named: Windows(each.named) for each in self.planned}

    def window(self, index: int, why: str | None) -> None:
        """Add a window of a fault that was hit, or missed for a reason."""
        with self._lock:
            self.windows[self.planned[index].named].add(why)

    def add(self, fault: ObservedFault) -> None:
        """Add a fault."""
        with self._lock:
            self.observed.append(fault)

    def finished(self, now: int) -> None:
        """Record when the work ended (ns), early if it was interrupted."""
        with self._lock:
            self.ended = now
        self.changed()

    def changed(self) -> None:
        """Save the current state."""
        with self._lock:
            self.save(self.document())

    def document(self) -> dict[str, Any]:
        """Return the content of plan.json."""
        return {
            "seed": self.seed,
            "started": self.started,
            "duration": self.duration,
            "ended": self.ended,
            "planned": [asdict(each) for each in self.planned],
            "windows": [each.document() for each in self.windows.values()],
            "faults": [asdict(each) for each in self.observed],
        }
