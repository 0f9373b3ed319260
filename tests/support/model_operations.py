"""Operations on a model, written in one line each."""

from __future__ import annotations

from typing import Any

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity


def is_right(operations: tuple[Operation, ...], model: Any) -> bool:
    return search(operations, model).validity is Validity.VALID


def op(
    f: str,
    called: int,
    returned: int | None = None,
    value: int | str | tuple[int, int] | None = None,
    answer: Any = NO_VALUE,
    **others: Any,
) -> Operation:
    """An operation; without a return it is an info."""
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(
        **{"f": f, "input": value, "output": answer, "called": called, "returned": returned}
        | {"outcome": outcome}
        | others
    )


def failed(
    f: str, called: int, returned: int, value: int | tuple[int, int] | None = None, answer: Any = NO_VALUE
) -> Operation:
    return op(f, called, returned, value, answer, outcome=Outcome.FAIL)


def overlapping_adds(size: int, key: str | None) -> tuple[Operation, ...]:
    """Unequal adds that all overlap: two to the power of `size` totals."""
    return tuple(op("add", 0, 100 + i, 2**i, key=key) for i in range(size))
