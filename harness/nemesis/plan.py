"""The plan of a run: the faults drawn from the seed, and when each was observed in force and healed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from checkers.vocabulary.hazards import Cell, End, Hit, Point
from harness.core.events import FaultObserved
from harness.nemesis.delay import DelaySpec
from harness.nemesis.fault import InForce
from harness.nemesis.faults import FaultSpec, aims_at_hazards, begins_at_each_stop, name_of
from harness.nemesis.windows import Windows

TAKES = {End.BEFORE_EXPIRY: 0.5, End.EXPIRED: 1.2, End.REGRANTED: 1.5, End.SUPERSEDED: 1.5}
"""TTLs before the end of a run in which a pause no longer begins: it could not end as it should."""

BY_LUCK = {End.EXPIRED: End.BEFORE_EXPIRY, End.REGRANTED: End.EXPIRED, End.SUPERSEDED: End.EXPIRED}
"""What may have become of some holds at the end of a pause that aims at this for others."""

FIRST = Cell(Point.BEFORE_WRITE, End.SUPERSEDED)
"""What a walk over the moments of a holder begins with."""


def place(cell: Cell) -> tuple[bool, bool, bool, int]:
    """Sort hazards by this.

    A holder is first stopped before its write until it is superseded, on each resource: that makes a write
    stale, without which a fence is not challenged. Then come the moments at which it has no token yet, where
    locks that draw the token late are wrong, and then the others, the longest pauses first.

    While a leader of the lock service is stopped, releases are lost, so the locks are regranted only after
    an election and then a whole lease. A holder at `granted` is an exception: it first waits until a renewal
    has failed, and then often releases its lock through the new leader, seconds before the others are free.
    So these have a pause of their own, and the others, which it leaves locked for a while, come before it.
    """
    is_late = cell.hit is not Hit.HOLDER or cell.point is not Point.GRANTED
    return cell != FIRST, is_late, _is_free_early(cell), -[*End].index(cell.end)


def are_alike(one: Cell, other: Cell) -> bool:
    """Does one pause fit both?"""
    return TAKES[one.end] == TAKES[other.end] and _is_free_early(one) == _is_free_early(other)


def _is_free_early(cell: Cell) -> bool:
    of_servers = cell.hit in (Hit.LOCK, Hit.STORAGE)
    return of_servers and cell.point is Point.GRANTED and cell.end in (End.REGRANTED, End.SUPERSEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    """One `[[faults]]` entry with the moments drawn from the seed."""

    kind: str
    target: str
    at: str | None  # the stop point
    moments: tuple[int, ...]  # ns after the workload's start; from each on, it strikes once
    hazards: tuple[str, ...] = ()  # those that it aims at, in this order


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
    begins = (fault.over or 0) if isinstance(fault, DelaySpec) else 0  # ns; until the last link is late
    every, lasts = fault.every.resolve(ttl), fault.lasts.resolve(ttl) + begins
    room = max(1, every - lasts)
    starts = range(0, max(0, duration - lasts), every)
    return tuple(start + rng.randrange(room) for start in starts if start + every <= duration)


def _hazards(fault: FaultSpec, possible: Container[str], rng: random.Random) -> tuple[str, ...]:
    """Put the hazards that a fault aims at in a random order, but as far as they differ in that of a walk."""
    if not aims_at_hazards(fault):
        return ()
    cells = [cell for cell in fault.cells if str(cell) in possible]
    rng.shuffle(cells)
    return tuple(str(cell) for cell in sorted(cells, key=place))


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
        self.windows = {name: Windows(name) for name in map(name_of, self.planned)}

    def window(self, index: int, why: str | None) -> None:
        """Add a window of a fault that was hit, or missed for a reason."""
        with self._lock:
            self.windows[name_of(self.planned[index])].add(why)

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


Hold = tuple[str | None, str | None]  # the resource and the owner that a fault hit
NO_HOLD: Hold = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Writes both observations of a fault to the history, to plan.json and to the run's events."""

    log: PlanLog
    record: Callable[[dict[str, Any]], None]  # an event of the history
    notify: Callable[[FaultObserved], None]

    @contextmanager
    def observed(
        self,
        fault: FaultSpec,
        target: str,
        requested: int,
        in_force: InForce,
        hold: Callable[[], Hold] = lambda: NO_HOLD,
    ) -> Iterator[int]:
        """Keep a fault in force for the block; yield since when (ns). `hold` is called once it is."""
        seen = ObservedFault(
            kind=fault.kind, target=target, resource=None, owner=None, at=fault.at, requested=requested
        )
        self.log.add(seen)
        with in_force as now:
            seen.target = now.target  # a leader is known by now
            seen.resource, seen.owner = hold()
            seen.evidence = now.evidence
            seen.in_force = time.monotonic_ns() if now.since is None else now.since
            self._record(seen, "in force", now.evidence, seen.in_force, left_behind=now.left_behind)
            yield seen.in_force
        if not now.ends:
            return
        seen.healed_evidence = now.healed
        seen.healed = time.monotonic_ns() if now.until is None else now.until
        self._record(seen, "healed", now.healed, seen.healed, was_killed=now.was_killed)

    def _record(
        self,
        fault: ObservedFault,
        state: Literal["in force", "healed"],
        evidence: str,
        now: int,
        **more: Any,
    ) -> None:
        value: dict[str, Any] = {"target": fault.target, "state": state, "evidence": evidence}
        value |= {name: each for name, each in more.items() if each}
        if fault.owner is not None:
            value |= {"resource": fault.resource, "owner": fault.owner}
            value |= {} if fault.at is None else {"at": fault.at}
        self.record({"time": now, "process": "nemesis", "type": "info", "f": fault.kind, "value": value})
        self.log.changed()
        self.notify(
            FaultObserved(
                kind=fault.kind,
                target=fault.target,
                state=state,
                evidence=evidence,
                elapsed=now - self.log.started,
            )
        )
