"""Which operations of a run fit into its drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints
from harness.report.scenes import Scene
from harness.report.timeline import Timeline

MOST_OPERATIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """The rows of the operations in a report, and the number of operations that it leaves out."""

    rows: Ints
    left_out: int


def keep(timeline: Timeline, scenes: Iterable[Scene], most: int = MOST_OPERATIONS) -> Kept:
    """Everything, or what the scenes need in full and an even sample of the rest."""
    count = len(timeline.operations)
    if count <= most:
        return Kept(rows=np.arange(count), left_out=0)
    chosen = np.zeros(count, dtype=np.bool_)
    for scene in scenes:
        chosen[list(scene.needed)] = True
        inside = timeline.rows_within(scene.start, scene.end)
        if np.count_nonzero(chosen) + len(inside) <= most:
            chosen[inside] = True
    others = np.flatnonzero(~chosen)
    room = min(len(others), max(1, most - int(np.count_nonzero(chosen))))
    chosen[others[np.arange(room) * len(others) // max(1, room)]] = True
    rows = np.flatnonzero(chosen)
    return Kept(rows=rows, left_out=count - len(rows))
