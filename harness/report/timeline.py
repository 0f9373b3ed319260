"""A run over time: what the swimlane draws, in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.facts.surroundings import GrantStops
from checkers.history.columns import Ints, Operations
from checkers.history.faults import faults_of
from harness.report.bands import Band, bands
from harness.report.commit_times import AcceptedWrites, accepted
from harness.report.holds import Holds
from harness.report.lanes import Lanes
from harness.report.recorded_run import RecordedRun
from harness.report.rows import ends


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
