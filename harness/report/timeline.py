"""A run over time: what the swimlane draws, in nanoseconds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.facts.surroundings import GrantStops
from checkers.history.columns import Ints, Operations
from checkers.history.faults import Fault, faults_of
from checkers.history.records import FaultEvent
from harness.report.commit_times import AcceptedWrites, accepted
from harness.report.holds import Holds
from harness.report.lanes import Lanes
from harness.report.recorded_run import RecordedRun
from harness.report.rows import ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One fault, as it is drawn while it was observed in force."""

    fault: Fault
    lane: int | None  # None: it did not hit a single client
    evidence: str
    healed_evidence: str

    @property
    def end(self) -> int | None:
        """When it was observed healed (ns), if it was."""
        return int(self.fault.healed) if math.isfinite(self.fault.healed) else None


def bands(faults: Iterable[FaultEvent], lanes: Lanes) -> tuple[Band, ...]:
    """Each fault with its end, as the checkers pair them, in the order in which they began."""
    events = tuple(faults)
    evidence: dict[tuple[str, str, float], str] = {
        (event.kind, event.target, event.time): event.evidence for event in events
    }
    return tuple(
        Band(
            fault=fault,
            lane=lanes.target(fault.target),
            evidence=evidence.get((fault.kind, fault.target, fault.began), ""),
            healed_evidence=evidence.get((fault.kind, fault.target, fault.healed), ""),
        )
        for fault in faults_of(events)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Everything that happened, by time. `start` and `end` in ns on the run's clock."""

    operations: Operations
    holds: Holds
    bands: tuple[Band, ...]
    accepted: AcceptedWrites
    start: int
    end: int
    ends: Ints  # ns; when the client stopped waiting for each operation
    longest: int  # ns; the longest operation

    def rows_within(self, start: int, end: int) -> Ints:
        """The rows of operations that were open at some time between two moments."""
        called = self.operations.columns.called
        first = np.searchsorted(called, start - self.longest, side="left")
        last = np.searchsorted(called, end, side="right")
        return first + np.flatnonzero(self.ends[first:last] >= start)


def timeline(recorded: RecordedRun, lanes: Lanes) -> Timeline | None:
    """Lay out a recorded run over time; None if nothing was recorded."""
    if recorded.history is None or not recorded.history.operations:
        return None
    history = recorded.history
    operations = Operations.of(history.operations)
    called, ended = operations.columns.called, ends(operations.columns)
    faults = [fault.time for fault in history.faults]
    return Timeline(
        operations=operations,
        holds=Holds(operations, lanes, GrantStops(faults_of(history.faults))),
        bands=bands(history.faults, lanes),
        accepted=accepted(history, recorded.commits),
        start=min([int(called.min()), *faults]),
        end=max([int(ended.max()), *faults]),
        ends=ended,
        longest=int((ended - called).max()),
    )
