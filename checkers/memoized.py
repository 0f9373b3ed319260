"""Results that several checkers need, computed once per evidence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar


class Remembering(Protocol):
    """Keeps the results."""

    @property
    def worked_out(self) -> dict[object, Any]:
        """The results by function."""


R = TypeVar("R", bound=Remembering)
T = TypeVar("T")


def memoized(work: Callable[[R], T]) -> Callable[[R], T]:
    """Decorate a pure function of evidence; no caller may change its result."""

    @functools.wraps(work)
    def remembered(evidence: R) -> T:
        if work not in evidence.worked_out:
            evidence.worked_out[work] = work(evidence)
        result: T = evidence.worked_out[work]
        return result

    return remembered
