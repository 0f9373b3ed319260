"""A history as columns: one numpy array for each field of an operation, row by row in order of calls.

A million operations are a few dozen megabytes this way, and a rule is a
handful of passes over arrays. `Op` objects are made of the rows that somebody
looks at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from checkers.records import Op, Outcome, Value

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ABSENT = np.iinfo(np.int64).min
"""Stands in a column for a field that the operation does not have."""

NEVER = np.iinfo(np.int64).max
"""When an operation returned that did not."""

_AT_ONCE = 1 << 14  # rows that are made into operations together

FUNCTIONS = ("acquire", "renew", "release", "revoke", "write", "fence", "read", "append")
ACQUIRE, RENEW, RELEASE, REVOKE, WRITE, FENCE, READ, APPEND = range(len(FUNCTIONS))

OUTCOMES = (Outcome.OK, Outcome.FAIL, Outcome.INFO)
OK, FAIL, INFO = range(len(OUTCOMES))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The fields of all operations; names and values are numbers of the tables below.

    The lines stand in the order of time, and the rows in that of their invokes.
    Two values have a number of their own: 0 is null, and `initial` is what
    stood in a resource before the run.
    """

    f: NDArray[np.int8]  # of FUNCTIONS
    outcome: NDArray[np.int8]  # of OUTCOMES
    process: Ints
    resource: Ints  # of `resources`
    owner: Ints  # of `owners`, or ABSENT
    value: Ints  # of `values`
    token: Ints  # or ABSENT
    called: Ints  # ns
    returned: Ints  # ns; NEVER when the outcome is INFO
    learned: Ints  # ns, or ABSENT
    ttl: Ints  # ns, or ABSENT
    attempt: Ints  # ns, or ABSENT
    error: Ints  # of `errors`, or ABSENT
    invoked_line: Ints
    completed_line: Ints  # or ABSENT
    resources: Sequence[str]
    owners: Sequence[str]
    values: Sequence[Value]
    errors: Sequence[str]
    initial: int  # of `values`

    def __len__(self) -> int:
        return len(self.f)

    def rows(self, *functions: int) -> Ints:
        """The rows of these kinds of operations, in the order of their calls."""
        wanted = np.zeros(len(self), dtype=np.bool_)
        for function in functions:
            wanted |= self.f == function
        return np.flatnonzero(wanted)

    @property
    def has_bare_writes(self) -> bool:
        """Is there a write that carried no token?"""
        return bool(np.any((self.f == WRITE) & (self.token == ABSENT)))

    def ops(self, rows: Ints) -> Iterator[Op]:
        """Some rows as operations."""
        fields: dict[str, Iterable[Any]] = {
            "index": rows.tolist(),
            "process": self.process[rows].tolist(),
            "f": _named(FUNCTIONS, self.f[rows]),
            "resource": _named(self.resources, self.resource[rows]),
            "called": self.called[rows].tolist(),
            "returned": _or_none(self.returned[rows], NEVER),
            "outcome": _named(OUTCOMES, self.outcome[rows]),
            "owner": _named(self.owners, self.owner[rows]),
            "token": _or_none(self.token[rows]),
            "value": _named(self.values, self.value[rows]),
            "ttl": _or_none(self.ttl[rows]),
            "attempt": _or_none(self.attempt[rows]),
            "error": _named(self.errors, self.error[rows]),
            "learned": _or_none(self.learned[rows]),
            "lines": (
                (invoked,) if completed is None else (invoked, completed)
                for invoked, completed in zip(
                    self.invoked_line[rows].tolist(), _or_none(self.completed_line[rows]), strict=True
                )
            ),
        }
        for row in zip(*fields.values(), strict=True):
            yield Op(**dict(zip(fields, row, strict=True)))


class Operations(Sequence[Op]):
    """Columns as a sequence of operations; each is made when it is first asked for, and kept."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._made: dict[int, Op] = {}

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, at: int) -> Op: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Op, ...]: ...

    def __getitem__(self, at: int | slice) -> Op | tuple[Op, ...]:
        rows = range(len(self))[at]
        if isinstance(rows, range):
            return tuple(self.at(np.arange(rows.start, rows.stop, rows.step)))
        made = self._made.get(rows)
        return next(self.at(np.array([rows]))) if made is None else made

    def __iter__(self) -> Iterator[Op]:
        return self.at(np.arange(len(self)))

    def at(self, rows: Ints) -> Iterator[Op]:
        """The operations of some rows."""
        made = self._made
        missing = np.array([row for row in rows.tolist() if row not in made], dtype=np.int64)
        for first in range(0, len(missing), _AT_ONCE):
            made.update((op.index, op) for op in self.columns.ops(missing[first : first + _AT_ONCE]))
        return (made[row] for row in rows.tolist())


def on_lines(operations: Sequence[Op], lines: Collection[int]) -> list[Op]:
    """The operations that are recorded on some of these lines of their history."""
    if not isinstance(operations, Operations):
        return [op for op in operations if not set(lines).isdisjoint(op.lines)]
    columns, wanted = operations.columns, list(lines)
    found = np.isin(columns.invoked_line, wanted) | np.isin(columns.completed_line, wanted)
    return list(operations.at(np.flatnonzero(found)))


def _or_none(column: Ints, none: int = ABSENT) -> list[int | None]:
    return [None if field == none else field for field in column.tolist()]


def _named(table: Sequence[Any], column: NDArray[Any]) -> list[Any]:
    """What the numbers of a column stand for."""
    return [None if number == ABSENT else table[number] for number in column.tolist()]
