"""Operations and accepted writes as the columns of a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from checkers.history import columns as history_columns
from checkers.history.columns import ABSENT, APPEND, FAIL, FUNCTIONS, INFO, Columns, Ints, Operations
from checkers.history.records import Value
from checkers.text.printable import shorten
from harness.report.commit_times import AcceptedWrites
from harness.report.lanes import Lanes
from harness.report.rows import ends, number_of_stale

EXACT = 2**53  # from this number on, a browser rounds whole numbers
OK, REJECTED, FAILED, UNKNOWN = range(4)
_MOST_ELEMENTS = 20  # of a list

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartScale:
    """How moments, resources, operations and the rest are encoded: as positions."""

    start: int
    tick: int  # ns
    resources: Mapping[str, int]
    operations: Mapping[int, int]
    lanes: Mapping[int, int]
    servers: Mapping[str, int]
    bands: Mapping[int, int]
    accepted: Mapping[int, int]

    def time(self, moment: int) -> int:
        """A moment in ticks from the start."""
        return max(0, moment - self.start) // self.tick

    def times(self, moments: Ints) -> list[int]:
        """Moments in ticks from the start."""
        ticks: list[int] = (np.maximum(0, moments - self.start) // self.tick).tolist()
        return ticks

    def positions(self, indexes: Iterable[int]) -> list[int]:
        """The positions of some operations in the drawing, without those that it leaves out."""
        return [self.operations[index] for index in indexes if index in self.operations]


def as_text(value: Value) -> str | None:
    """A value or token as text: a browser would round a number."""
    if value is None:
        return None
    if isinstance(value, int) and abs(value) < EXACT:  # the most frequent by far; short, and only digits
        return str(value)
    if isinstance(value, tuple):
        before = ["…"] * (len(value) > _MOST_ELEMENTS)
        return shorten(", ".join([*before, *map(str, value[-_MOST_ELEMENTS:])]))
    return shorten(str(value))


def operation_columns(
    operations: Operations, rows: Ints, lanes: Lanes, scale: ChartScale
) -> dict[str, list[Any]]:
    """Some operations of a run."""
    columns = operations.columns
    kinds = sorted(FUNCTIONS[number] for number in np.unique(columns.f[rows]).tolist())
    kind = {FUNCTIONS.index(name): place for place, name in enumerate(kinds)}
    invoked, completed = columns.invoked_line[rows], columns.completed_line[rows]
    has_both = (invoked != ABSENT) & (completed != ABSENT)
    return {
        "kinds": kinds,
        "kind": _mapped(columns.f[rows], kind.__getitem__),
        "lane": _mapped(lanes.of(columns.process[rows]), scale.lanes.__getitem__),
        "process": _mapped(columns.process[rows], str),
        "resource": _mapped(
            columns.resource[rows], lambda number: scale.resources[columns.resources[number]]
        ),
        "outcome": _outcomes(columns, rows),
        "from": scale.times(columns.called[rows]),
        "to": scale.times(ends(columns)[rows]),
        "token": _mapped(columns.token[rows], _token),
        "value": _values(operations, rows),
        "error": _mapped(
            columns.error[rows], lambda number: None if number == ABSENT else as_text(columns.errors[number])
        ),
        "call": np.maximum(0, np.where(invoked == ABSENT, completed, invoked)).tolist(),
        "answer": np.where(has_both, completed, 0).tolist(),
    }


def _outcomes(columns: Columns, rows: Ints) -> list[int]:
    outcome = columns.outcome[rows]
    rejected = columns.error[rows] == number_of_stale(columns)
    found: list[int] = np.select(
        [outcome == history_columns.OK, outcome == INFO, rejected & (outcome == FAIL)],
        [OK, UNKNOWN, REJECTED],
        FAILED,
    ).tolist()
    return found


def _values(operations: Operations, rows: Ints) -> list[str | None]:
    """What each operation wrote or read; for an append, its element, and for one on a job, that job."""
    columns = operations.columns
    texts = _mapped(columns.value[rows], lambda number: as_text(columns.values[number]))
    others = np.flatnonzero(columns.f[rows] >= APPEND)
    for place, op in zip(others.tolist(), operations.at(rows[others]), strict=True):
        texts[place] = as_text(next((each for each in (op.job, op.element) if each is not None), op.value))
    return texts


def accepted_columns(accepted: AcceptedWrites, places: Ints, scale: ChartScale) -> dict[str, list[Any]]:
    """Some accepted writes of a run."""
    written, rows = accepted.written(places)
    commits = accepted.commits
    seq = [None] * len(places) if commits is None else _mapped(commits.columns.seq[rows], as_text)
    return {
        "at": scale.times(accepted.at[places]),
        "earliest": scale.times(accepted.earliest[places]),
        "latest": scale.times(accepted.latest[places]),
        "seq": seq,
        "resource": _mapped(
            written.resource[rows], lambda number: scale.resources.get(written.resources[number], -1)
        ),
        "token": _mapped(written.token[rows], _token),
        "value": _mapped(written.value[rows], lambda number: as_text(written.values[number])),
        "operation": [scale.operations.get(row, -1) for row in accepted.operation[places].tolist()],
    }


def _token(token: int) -> str | None:
    return None if token == ABSENT else as_text(token)


def _mapped(numbers: NDArray[Any], to: Callable[[int], _Result]) -> list[_Result]:
    """Apply a function to numbers, many of which are equal."""
    different, places = np.unique(numbers, return_inverse=True)
    results = list(map(to, different.tolist()))
    return list(map(results.__getitem__, places.tolist()))
