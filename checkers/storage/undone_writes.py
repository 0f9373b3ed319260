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
from checkers.history.columns import ABSENT, INFO, OK, Ints
from checkers.history.faults import Fault
from checkers.history.ranks import UNRANKED, stable_order
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
    """What may have been accepted without an answer, and what shows that it had not been.

    Ranks and heights of later resources are above all of an earlier one, so one prefix or suffix
    serves all registers.
    """

    def __init__(self, zones: ZoneColumns, restarts: Sequence[Fault]) -> None:
        self._columns, self._ranks, self._height = zones.columns, zones.ranks, zones.height
        self._strict = int(zones.header.policy == "strict")
        self._restarts = restarts
        columns, ranks = zones.columns, zones.ranks
        unanswered = np.concatenate((zones.writes, zones.fences))
        unanswered = unanswered[(columns.outcome[unanswered] == INFO) & (columns.token[unanswered] != ABSENT)]
        unanswered = unanswered[zones.zone_of(unanswered) < 0]
        unanswered = unanswered[stable_order(zones.height[unanswered])]
        self._unanswered: Ints = unanswered
        self._levels, self._resources = zones.height[unanswered], columns.resource[unanswered]
        accepted = zones.fenced_write[columns.outcome[zones.fenced_write] == OK]
        reads, of = zones.all_reads
        shown = np.concatenate((accepted, reads))
        # A strict mark refuses a write of its own level, and no read of it.
        refused_at = np.concatenate((2 * zones.height[accepted], 2 * zones.level[of] + 1))
        order = stable_order(ranks.called[shown])
        self._called, refused_at = ranks.called[shown][order], refused_at[order]
        returned = columns.returned[shown][order]
        self._lowest_from = [
            _suffix_minimum(np.where(returned < restart.began, refused_at, UNRANKED)) for restart in restarts
        ]

    def explain(self, rejected: int) -> bool:
        """Can a restart have undone the reason of this rejection?"""
        columns = self._columns
        answered = self._ranks.returned[rejected]
        first = np.searchsorted(self._called, answered, side="right")
        least = self._height[rejected] + 1 - self._strict
        end = np.searchsorted(self._resources, columns.resource[rejected], side="right")
        for restart, lowest in zip(self._restarts, self._lowest_from, strict=True):
            most = (lowest[first] - self._strict) // 2
            start, stop = np.searchsorted(self._levels, (least, most + 1))
            raising = self._unanswered[start : min(stop, end)]
            was_sent = (self._ranks.called[raising] <= answered) & (columns.called[raising] <= restart.healed)
            if columns.called[rejected] <= restart.healed and was_sent.any():
                return True
        return False


def _suffix_minimum(numbers: Ints) -> Ints:
    """The lowest number from each place on; a high one after the last."""
    return np.append(np.minimum.accumulate(numbers[::-1])[::-1], UNRANKED)
