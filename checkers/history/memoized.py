"""Results that several checkers need, computed once per evidence."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, TypeVarTuple


class Remembering(Protocol):
    """An object that keeps results."""

    @property
    def worked_out(self) -> dict[object, Any]:
        """The results by function."""


R = TypeVar("R", bound=Remembering)
T = TypeVar("T")


A = TypeVarTuple("A")


def of_the_last(work: Callable[[*A], T]) -> Callable[[*A], T]:
    """Decorate a pure function of objects that all parts of a run share, to keep its last result.

    The result is reused only for the very same objects. Neither they nor the result may be changed.
    """
    last: list[tuple[tuple[*A], T]] = []

    @functools.wraps(work)
    def remembered(*things: *A) -> T:
        for those, result in last:
            if all(map(operator.is_, those, things)):
                return result
        result = work(*things)
        last[:] = [(things, result)]
        return result

    return remembered


def memoized(work: Callable[[R], T]) -> Callable[[R], T]:
    """Decorate a pure function of evidence; no caller may change its result."""

    @functools.wraps(work)
    def remembered(evidence: R) -> T:
        if work not in evidence.worked_out:
            evidence.worked_out[work] = work(evidence)
        result: T = evidence.worked_out[work]
        return result

    return remembered
