"""How long each kind of call took, over time and in summary."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from checkers.history.columns import ABSENT, FUNCTIONS, NEVER, OUTCOMES, Columns, Ints, Operations
from checkers.history.records import Op

_SLOTS = 1_500  # points a kind: about one a pixel
UNANSWERED = "unanswered"


def summaries(operations: Sequence[Op]) -> tuple[SimpleNamespace, ...]:
    """A row for each kind of call, the most frequent first."""
    columns = Operations.of(operations).columns
    rows = (_summary(kind, columns, columns.rows(number)) for number, kind in enumerate(FUNCTIONS))
    return tuple(sorted((row for row in rows if row.calls), key=lambda row: (-row.calls, row.kind)))


def _summary(kind: str, columns: Columns, rows: Ints) -> SimpleNamespace:
    """Sum up the calls of one kind. Durations in ns, of those that were answered, or None."""
    answered = rows[columns.returned[rows] != NEVER]
    took = columns.returned[answered] - columns.called[answered]
    places = [len(took) // 2, min(len(took) - 1, len(took) * 99 // 100), len(took) - 1]
    if len(took):
        took.partition(places)
    median, p99, slowest = took[places].tolist() if len(took) else (None, None, None)
    ok, fail, info = np.bincount(columns.outcome[rows], minlength=len(OUTCOMES)).tolist()
    return SimpleNamespace(
        kind=kind, calls=len(rows), ok=ok, fail=fail, info=info, median=median, p99=p99, slowest=slowest
    )


def points(operations: Sequence[Op], start: int, end: int) -> dict[str, list[tuple[int, int]]]:
    """(moment, duration) in ns by kind: of calls close together, only the slowest.

    Calls that were never answered are a separate kind, and last until the client gave up.
    """
    slot = max(1, (end - start) // _SLOTS)
    columns = Operations.of(operations).columns
    answered = columns.returned != NEVER
    until = np.where(answered, columns.returned, columns.learned)
    kinds = np.where(answered, columns.f, len(FUNCTIONS))
    rows = np.flatnonzero(until != ABSENT)
    seen, first = np.unique(kinds[rows], return_index=True)
    return {
        (*FUNCTIONS, UNANSWERED)[kind]: _slowest(columns.called, until, rows[kinds[rows] == kind], slot)
        for kind in seen[np.argsort(first)].tolist()
    }


def _slowest(called: Ints, until: Ints, rows: Ints, slot: int) -> list[tuple[int, int]]:
    """The slowest call of each slot, the first of several; `rows` are in the order of their calls."""
    took = until[rows] - called[rows]
    slots = called[rows] // slot
    starts = np.flatnonzero(np.append(True, slots[1:] != slots[:-1]))
    slowest = np.repeat(np.maximum.reduceat(took, starts), np.diff(np.append(starts, len(rows))))
    candidates = np.flatnonzero(took == slowest)
    chosen = candidates[np.searchsorted(candidates, starts)]
    return list(zip(called[rows][chosen].tolist(), took[chosen].tolist(), strict=True))
