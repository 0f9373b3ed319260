"""A history as columns: one numpy array for each field of an operation, with rows in the order of calls.

In this form, a million operations take a few dozen megabytes, and a rule is a handful of passes over arrays.
`Op` objects are created only for the rows that are used.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from checkers.history.records import Op, Outcome, Value, op_of

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
ABSENT = np.iinfo(np.int64).min  # the value in a column where an operation lacks the field
NEVER = np.iinfo(np.int64).max  # the return time of an operation that did not return
NO_ROWS: Ints = np.zeros(0, dtype=np.int64)


def in_ns(moment: float) -> int:
    """Return a moment as a number of a column; infinity is the last one before NEVER."""
    return NEVER - 1 if moment == math.inf else int(moment)


_AT_ONCE = 1 << 14  # rows converted to operations in one batch
FUNCTIONS = (
    *("acquire", "renew", "release", "revoke", "write", "fence", "read", "append"),
    *("submit", "take", "execute", "heartbeat"),
)
ACQUIRE, RENEW, RELEASE, REVOKE, WRITE, FENCE, READ, APPEND, *_JOBS = range(len(FUNCTIONS))
SUBMIT, TAKE, EXECUTE, HEARTBEAT = _JOBS
OUTCOMES = (Outcome.OK, Outcome.FAIL, Outcome.INFO)
OK, FAIL, INFO = range(len(OUTCOMES))


class Numbers(defaultdict[Any, int]):
    """Assigns numbers to things in the order in which they are first seen."""

    def __init__(self, *things: Any) -> None:
        super().__init__(self.__len__)
        for thing in things:
            self[thing]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The fields of all operations; names and values are indices into the tables below.

    Rows are in the order of their invokes. Two values have fixed numbers: 0 is
    null, and `initial` is the value of a resource before the run.
    """

    f: NDArray[np.int8]  # index into FUNCTIONS
    outcome: NDArray[np.int8]  # index into OUTCOMES
    process: Ints
    resource: Ints  # index into `resources`
    owner: Ints  # index into `owners`, or ABSENT
    value: Ints  # index into `values`
    token: Ints  # or ABSENT
    called: Ints  # ns
    returned: Ints  # ns; NEVER when the outcome is INFO
    learned: Ints  # ns, or ABSENT
    ttl: Ints  # ns, or ABSENT
    attempt: Ints  # ns, or ABSENT
    error: Ints  # index into `errors`, or ABSENT
    invoked_line: Ints  # or ABSENT
    completed_line: Ints  # or ABSENT
    resources: Sequence[str]
    owners: Sequence[str]
    values: Sequence[Value]
    errors: Sequence[str]
    initial: int  # index into `values`
    by_line: bool = True  # does each line hold one event, in the order of time?

    @classmethod
    def of(cls, operations: Iterable[Op], initial: Value = None) -> Self:
        """Return the columns of operations in the order of their calls; `ops` is the inverse.

        The columns omit only the elements of appends, the lists that they read, and what only
        operations on jobs have. Lines may be missing, and events with the same time may be on any lines.
        """
        resources, owners, errors = Numbers(), Numbers(), Numbers()
        values = Numbers(None, initial)
        rows = [
            (
                _FUNCTION[op.f],
                _OUTCOME[op.outcome],
                op.process,
                resources[op.resource],
                ABSENT if op.owner is None else owners[op.owner],
                values[op.value],
                ABSENT if op.token is None else op.token,
                op.called,
                NEVER if op.returned is None else op.returned,
                ABSENT if op.learned is None else op.learned,
                ABSENT if op.ttl is None else op.ttl,
                ABSENT if op.attempt is None else op.attempt,
                ABSENT if op.error is None else errors[op.error],
                *(op.lines + _NO_LINES)[:2],
            )
            for op in operations
        ]
        fields = np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, len(_FIELDS)).T)
        columns: dict[str, Any] = dict(zip(_FIELDS, fields, strict=True))
        return cls(
            **columns | {"f": fields[0].astype(np.int8), "outcome": fields[1].astype(np.int8)},
            resources=list(resources),
            owners=list(owners),
            values=list(values),
            errors=list(errors),
            initial=values[initial],
            by_line=False,
        )

    def __len__(self) -> int:
        return len(self.f)

    def rows(self, *functions: int) -> Ints:
        """Return the rows of these kinds of operations, in the order of their calls."""
        wanted = np.zeros(len(self), dtype=np.bool_)
        for function in functions:
            wanted |= self.f == function
        return indices(wanted)

    def ops(self, rows: Ints) -> Iterator[Op]:
        """Yield the operations of some rows."""
        lines = zip(self.invoked_line[rows].tolist(), self.completed_line[rows].tolist(), strict=True)
        nothing = [None] * len(rows)  # the columns lack the fields that only appends or jobs have
        fields: tuple[Iterable[Any], ...] = (
            rows.tolist(),
            self.process[rows].tolist(),
            _named(FUNCTIONS, self.f[rows]),
            _named(self.resources, self.resource[rows]),
            self.called[rows].tolist(),
            _or_none(self.returned[rows], NEVER),
            _named(OUTCOMES, self.outcome[rows]),
            _named(self.owners, self.owner[rows]),
            _or_none(self.token[rows]),
            _named(self.values, self.value[rows]),
            nothing,  # element
            nothing,  # seen
            _or_none(self.ttl[rows]),
            _or_none(self.attempt[rows]),
            nothing,  # job
            nothing,  # due
            nothing,  # ended
            _named(self.errors, self.error[rows]),
            _or_none(self.learned[rows]),
            (tuple(line for line in pair if line != ABSENT) if ABSENT in pair else pair for pair in lines),
        )
        return map(op_of, zip(*fields, strict=True))


_FIELDS = (
    *("f", "outcome", "process", "resource", "owner", "value", "token", "called", "returned", "learned"),
    *("ttl", "attempt", "error", "invoked_line", "completed_line"),
)

_FUNCTION = {name: number for number, name in enumerate(FUNCTIONS)}
_OUTCOME = {outcome: number for number, outcome in enumerate(OUTCOMES)}
_NO_LINES = (ABSENT, ABSENT)


class Operations(Sequence[Op]):
    """Operations and their columns: each is made from the other on first use, and cached."""

    def __init__(self, columns: Columns | None, made: Iterable[Op] = (), initial: Value = None) -> None:
        """Without columns, `made` has all operations, and `initial` is a resource's value before them."""
        self._columns = columns
        self._initial = initial
        self._made = dict(enumerate(made))
        of_index = {op.index: row for row, op in self._made.items()}
        self._row_of = of_index if any(row != index for index, row in of_index.items()) else None

    @classmethod
    def of(cls, operations: Sequence[Op], initial: Value = None) -> Operations:
        """Return the operations with columns; `Operations` are returned as they are."""
        return operations if isinstance(operations, Operations) else cls(None, operations, initial)

    @property
    def columns(self) -> Columns:
        """All operations as columns."""
        if self._columns is None:
            self._columns = Columns.of(self._made.values(), self._initial)
        return self._columns

    def __len__(self) -> int:
        return len(self._made if self._columns is None else self._columns)

    def named(self, *names: str) -> Iterator[Op]:
        """Yield the operations with these names."""
        if self._columns is None:
            return (op for op in self._made.values() if op.f in names)
        return self.at(self._columns.rows(*map(FUNCTIONS.index, names)))

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

    def row(self, op: Op) -> int:
        """Return the row of one of these operations."""
        return op.index if self._row_of is None else self._row_of[op.index]

    def rows_of(self, operations: Iterable[Op | None]) -> Ints:
        """Return the rows of some operations, -1 for None and for operations outside this sequence."""
        rows = self._row_of if self._row_of is not None else range(len(self))
        found = [-1 if op is None or op.index not in rows else rows[op.index] for op in operations]
        return np.array(found, dtype=np.int64)

    def at(self, rows: Ints) -> Iterator[Op]:
        """Yield the operations of some rows, creating the missing ones."""
        made = self._made
        missing = np.array([row for row in rows.tolist() if row not in made], dtype=np.int64)
        for first in range(0, len(missing), _AT_ONCE):
            made.update((op.index, op) for op in self.columns.ops(missing[first : first + _AT_ONCE]))
        return (made[row] for row in rows.tolist())


def indices(flags: Flags) -> Ints:
    """Return the indices of set flags; `np.flatnonzero` takes twice as long for short arrays."""
    return flags.nonzero()[0]


def on_lines(operations: Sequence[Op], lines: Collection[int]) -> list[Op]:
    """Return the operations that have an event on one of these lines of their history."""
    operations = Operations.of(operations)
    columns, wanted = operations.columns, list(lines)
    found = np.isin(columns.invoked_line, wanted) | np.isin(columns.completed_line, wanted)
    return list(operations.at(indices(found)))


def _or_none(column: Ints, none: int = ABSENT) -> list[int | None]:
    return [None if field == none else field for field in column.tolist()]


def _named(table: Sequence[Any], column: NDArray[Any]) -> list[Any]:
    """Return the names that the numbers of a column denote."""
    return [None if number == ABSENT else table[number] for number in column.tolist()]
