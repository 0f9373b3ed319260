"""Rejections that an unanswered write explains which a restart of the storage undid.

A write without an answer may have been accepted, and a fence then refuses older tokens. It may be
gone after a restart of the storage: nobody was promised that it stays. What was accepted or read
after that restart contradicts no rejection from before.

So a rejection is explained iff some unanswered write or fence with a token that refuses it had been
called when it returned, both were called before a restart was over, and nothing that was called
after the rejection and was over before that restart began shows that this token had not been met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from checkers.conflict import Conflict
from checkers.history.columns import ABSENT, INFO, OK, Ints, indices
from checkers.history.faults import Fault
from checkers.history.records import Op
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.false_or_stale import FALSE_OR_STALE
from checkers.storage.rejections import NO_CAUSE


def unless_undone(
    zones: ZoneColumns, restarts: Sequence[Fault], conflicts: Iterable[Conflict]
) -> Iterator[Conflict]:
    """The conflicts but for those that rest on a rejection which a restart explains."""
    undone = _UndoneWrites(zones, restarts) if restarts else None
    for each in conflicts:
        rejected = _rejected(each)
        if undone is None or rejected is None or not undone.explain(zones.ops.row(rejected)):
            yield each


def _rejected(conflict: Conflict) -> Op | None:
    """The rejection that it rests on."""
    if conflict.breach is NO_CAUSE:
        return conflict.accused
    return conflict.because[0] if conflict.breach is FALSE_OR_STALE else None


class _UndoneWrites:
    """What may have been accepted without an answer, and what shows that it had not been, as rows."""

    def __init__(self, zones: ZoneColumns, restarts: Sequence[Fault]) -> None:
        self._columns, self._ranks, self._height = zones.columns, zones.ranks, zones.height
        self._restarts = restarts
        self._strict = zones.header.policy == "strict"
        self._most = int(zones.header.policy == "inclusive")
        columns = zones.columns
        unanswered = np.concatenate((zones.writes, zones.fences))
        unanswered = unanswered[(columns.outcome[unanswered] == INFO) & (columns.token[unanswered] != ABSENT)]
        self._unanswered = unanswered[zones.zone_of(unanswered) < 0]
        accepted = zones.fenced_write[columns.outcome[zones.fenced_write] == OK]
        reads, of = zones.all_reads
        self._shown: Ints = np.concatenate((accepted, reads))
        self._level: Ints = np.concatenate((zones.height[accepted], zones.level[of]))
        self._is_read = np.arange(len(self._shown)) >= len(accepted)

    def explain(self, rejected: int) -> bool:
        """Can a restart have undone the reason of this rejection?"""
        columns = self._columns
        raising = self._unanswered[
            (columns.resource[self._unanswered] == columns.resource[rejected])
            & (self._height[self._unanswered] >= self._height[rejected] + self._most)
            & (self._ranks.called[self._unanswered] <= self._ranks.returned[rejected])
        ]
        for restart in self._restarts:
            undone = raising[columns.called[raising] <= restart.healed]
            if len(undone) and columns.called[rejected] <= restart.healed:
                lowest = int(self._height[undone].min())
                if not self._is_contradicted(rejected, lowest, restart):
                    return True
        return False

    def _is_contradicted(self, rejected: int, height: int, restart: Fault) -> bool:
        """Did anything between a rejection and a restart carry a token that this mark refuses?"""
        columns, shown = self._columns, self._shown
        is_refused = (self._level < height) | (self._strict & ~self._is_read & (self._level == height))
        is_between = (self._ranks.called[shown] > self._ranks.returned[rejected]) & (
            columns.returned[shown] < restart.began
        )
        is_same = columns.resource[shown] == columns.resource[rejected]
        return bool(len(indices(is_refused & is_between & is_same)))
