"""The operations on one register as columns, to judge millions of them quickly."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.history.columns import NEVER, Ints, Numbers
from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.model_verdict import OutOfScopeError

READ: Final = 0
WRITE: Final = 1
CAS: Final = 2
FAILED_CAS: Final = 3
INITIAL: Final = 0  # the number of the initial value


@dataclass(frozen=True, slots=True)
class RegisterColumns:
    """A row for each operation that shows anything: no failed writes, and only ok reads.

    Values are numbered from 0, the initial one; a value that was only seen has a number too.
    """

    position: Ints  # of the operation, in the history
    kind: NDArray[np.int8]  # READ WRITE CAS FAILED_CAS
    value: Ints  # that was read, written, or found by a failed cas
    expected: Ints  # by a cas, failed or not; -1 elsewhere
    called: Ints
    returned: Ints  # NEVER for an info
    values: int  # the number of values


def register_columns(
    operations: Sequence[Operation], positions: Iterable[int], initial: Hashable = None
) -> RegisterColumns:
    """Return the columns of one register.

    Raises:
        OutOfScopeError: there is another operation, or a failed cas without the value that it found.
    """
    numbers = Numbers(initial)
    rows = [(position, *row) for position in positions if (row := _row(operations[position], numbers))]
    position, kind, value, expected, called, returned = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return RegisterColumns(position, kind.astype(np.int8), value, expected, called, returned, len(numbers))


def _row(op: Operation, numbers: Numbers) -> tuple[int, int, int, int, int] | None:
    kind, value, expected = _meaning(op)
    if kind is None:
        return None
    number = numbers[value]
    returned = NEVER if op.outcome is Outcome.INFO or op.returned is None else op.returned
    return kind, number, -1 if expected is NO_VALUE else numbers[expected], op.called, returned


def _meaning(op: Operation) -> tuple[int | None, Hashable, Hashable]:
    """Return an operation's kind (None: it shows nothing), its value, and the value that a cas expected."""
    if op.f == "read":
        is_seen = op.outcome is Outcome.OK and op.output is not NO_VALUE
        return READ if is_seen else None, op.output, NO_VALUE
    if op.f == "write":
        return None if op.outcome is Outcome.FAIL else WRITE, op.input, NO_VALUE
    if op.f != "cas" or not isinstance(op.input, tuple):
        problem = f"the operations of a register are read, write and cas of (expected, new), not {op}"
        raise OutOfScopeError(problem)
    expected, new = op.input
    if op.outcome is not Outcome.FAIL:
        return CAS, new, expected
    if op.output is NO_VALUE:
        raise OutOfScopeError(f"{op} does not have the value that it found")
    return FAILED_CAS, op.output, expected
