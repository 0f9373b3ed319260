"""A history as columns: one numpy array for each field of an operation, row by row in order of calls.

A million operations are a few dozen megabytes this way, and a rule is a
handful of passes over arrays. `Op` objects are made of the rows that somebody
looks at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from checkers.records import Op, Outcome, Value

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ABSENT = np.iinfo(np.int64).min
"""Stands in a column for a field that the operation does not have."""

NEVER = np.iinfo(np.int64).max
"""When an operation returned that did not."""

FUNCTIONS = ("acquire", "renew", "release", "revoke", "write", "fence", "read")
ACQUIRE, RENEW, RELEASE, REVOKE, WRITE, FENCE, READ = range(len(FUNCTIONS))

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

    def op(self, row: int) -> Op:
        """One row as an operation."""
        completed = _or_none(self.completed_line[row])
        invoked = int(self.invoked_line[row])
        returned = int(self.returned[row])
        owner, error = _or_none(self.owner[row]), _or_none(self.error[row])
        return Op(
            index=row,
            process=int(self.process[row]),
            f=FUNCTIONS[self.f[row]],
            resource=self.resources[self.resource[row]],
            called=int(self.called[row]),
            returned=None if returned == NEVER else returned,
            outcome=OUTCOMES[self.outcome[row]],
            owner=None if owner is None else self.owners[owner],
            token=_or_none(self.token[row]),
            value=self.values[self.value[row]],
            ttl=_or_none(self.ttl[row]),
            attempt=_or_none(self.attempt[row]),
            error=None if error is None else self.errors[error],
            learned=_or_none(self.learned[row]),
            lines=(invoked,) if completed is None else (invoked, completed),
        )


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
        return self._op(rows) if isinstance(rows, int) else tuple(map(self._op, rows))

    def __iter__(self) -> Iterator[Op]:
        return map(self._op, range(len(self)))

    def _op(self, row: int) -> Op:
        op = self._made.get(row)
        if op is None:
            op = self._made[row] = self.columns.op(row)
        return op


def on_lines(operations: Sequence[Op], lines: Collection[int]) -> list[Op]:
    """The operations that are recorded on some of these lines of their history."""
    if not isinstance(operations, Operations):
        return [op for op in operations if not set(lines).isdisjoint(op.lines)]
    columns, wanted = operations.columns, list(lines)
    found = np.isin(columns.invoked_line, wanted) | np.isin(columns.completed_line, wanted)
    return [operations[row] for row in np.flatnonzero(found).tolist()]


def _or_none(field: np.int64) -> int | None:
    return None if field == ABSENT else int(field)
