"""A run laid out in time: what the swimlane draws, in nanoseconds."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checkers.history import Op
from harness.report.bands import Band, bands
from harness.report.holds import Hold, end_of, holds
from harness.report.lanes import Lanes
from harness.report.placing import Accepted, accepted
from harness.report.recorded import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Everything that happened, by time. `start` and `end` in ns on the run's clock."""

    operations: tuple[Op, ...]
    holds: Mapping[tuple[str, int | None], tuple[Hold, ...]]  # by resource and token
    bands: tuple[Band, ...]
    accepted: tuple[Accepted, ...]
    start: int
    end: int
    longest: int  # ns; the longest operation

    def within(self, start: int, end: int) -> Iterator[Op]:
        """Operations that were open at some time between two moments."""
        first = bisect.bisect_left(self.operations, start - self.longest, key=_called)
        last = bisect.bisect_right(self.operations, end, key=_called)
        return (op for op in self.operations[first:last] if end_of(op) >= start)

    def held(self, resource: str) -> Iterator[Hold]:
        """Every hold of one resource's lock."""
        return (hold for key, group in self.holds.items() if key[0] == resource for hold in group)


def _called(operation: Op) -> int:
    return operation.called


def timeline(recorded: Recorded, lanes: Lanes) -> Timeline | None:
    """Lay a recorded run out in time; None where nothing was recorded."""
    history = recorded.history
    if history is None or not history.operations:
        return None
    gathered: defaultdict[tuple[str, int | None], list[Hold]] = defaultdict(list)
    for hold in holds(history, lanes):
        gathered[hold.resource, hold.token].append(hold)
    first = min(op.called for op in history.operations)
    faults = [fault.time for fault in history.faults]
    return Timeline(
        operations=tuple(history.operations),
        holds={key: tuple(group) for key, group in gathered.items()},
        bands=bands(history.faults, lanes),
        accepted=accepted(history, recorded.commits),
        start=min([first, *faults]),
        end=max([*(end_of(op) for op in history.operations), *faults]),
        longest=max(end_of(op) - op.called for op in history.operations),
    )
