"""Can these columns be those of a history?

The rules rely on these invariants: tables are long enough, lines are unique and in order, times
do not run backwards, a process does one thing at a time, and a value is written once. Each check
is a pass over arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.history.columns import (
    ABSENT,
    FAIL,
    FENCE,
    INFO,
    NEVER,
    OK,
    WRITE,
    Columns,
    Flags,
    Ints,
)
from checkers.history.ranks import stable_order

_FIRST_LINE = 2  # after the header


def is_sound(columns: Columns, other_lines: int) -> bool:
    """Are the columns consistent? `other_lines` is the number of lines that belong to no operation."""
    return all(_holds(columns, other_lines))


def _holds(columns: Columns, other_lines: int) -> Iterator[bool]:
    """One requirement after another; each may rely on those before it."""
    answered = np.flatnonzero(columns.completed_line != ABSENT)
    lines = np.concatenate((columns.invoked_line, columns.completed_line[answered]))
    yield len(columns) > 0
    yield int(lines.min()) >= _FIRST_LINE
    yield int(lines.max()) < _FIRST_LINE + len(lines) + other_lines
    yield int(np.bincount(lines).max()) == 1
    yield bool(np.all(columns.invoked_line[1:] > columns.invoked_line[:-1]))
    yield bool(np.all(columns.completed_line[answered] > columns.invoked_line[answered]))
    yield _is_timed(columns, lines, answered)
    yield _has_tokens(columns)
    yield _is_sequential(columns)
    yield 0 <= columns.initial < len(columns.values)
    yield columns.values[0] is None
    written = columns.value[columns.f == WRITE]
    yield int(np.bincount(written, minlength=1).max()) <= 1
    yield not np.any(written == columns.initial)


def _is_timed(columns: Columns, lines: Ints, answered: Ints) -> bool:
    """Times are in the order of lines, and none is missing."""
    by_line = np.zeros(int(lines.max()) + 1, dtype=np.int64)
    by_line[lines] = np.concatenate((columns.called, columns.learned[answered]))
    times = by_line[np.bincount(lines) > 0]
    is_info = columns.outcome == INFO
    known = np.where(is_info, NEVER, columns.learned)
    return bool(
        times[0] >= 0
        and np.all(times[1:] >= times[:-1])
        and times[-1] < NEVER
        and np.array_equal(columns.returned, known)
        and not np.any(~is_info & (columns.completed_line == ABSENT))
        and not np.any((columns.learned == ABSENT) != (columns.completed_line == ABSENT))
    )


def _has_tokens(columns: Columns) -> bool:
    """Required tokens are present; durations and tokens are not negative."""
    attempt = columns.attempt
    outside = (attempt < columns.called) | (attempt > columns.learned)
    return bool(
        not np.any((columns.f == FENCE) & (columns.token == ABSENT))
        and not np.any(_is_below_zero(columns.token))
        and not np.any(_is_below_zero(columns.ttl))
        and not np.any(outside & (attempt != ABSENT))
        and not np.any((columns.error != ABSENT) & (columns.completed_line == ABSENT))
        and not np.any((columns.outcome != FAIL) & (columns.outcome != OK) & (attempt != ABSENT))
    )


def _is_below_zero(numbers: Ints) -> Flags:
    below: Flags = (numbers < 0) & (numbers != ABSENT)
    return below


def _is_sequential(columns: Columns) -> bool:
    """Each process does one thing at a time, and nothing after an info."""
    order = stable_order(columns.process)
    process = columns.process[order]
    again = process[1:] == process[:-1]
    ended = np.where(columns.outcome == INFO, NEVER, columns.completed_line)[order[:-1]]
    return not np.any(again & (ended > columns.invoked_line[order[1:]]))
