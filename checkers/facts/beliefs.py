"""Beliefs: until when did a client believe that it held a lock?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from checkers.facts.leases import ENDS
from checkers.history.records import Op, Outcome


class Beliefs:
    """When the owner of some operations stopped believing that it held a grant."""

    def __init__(self, operations: Iterable[Op]) -> None:
        operations = list(operations)
        given_back = sorted((op.over, op.called) for op in operations if op.f in ENDS)
        self._given_back = [returned for returned, _ in given_back]
        called = (called for _, called in reversed(given_back))
        self._first_call = [*accumulate(called, min, initial=math.inf)][::-1]  # from each place on
        refused = (op for op in operations if op.f == "renew" and op.outcome is Outcome.FAIL)
        self._lost = sorted(op.over for op in refused)

    def end(self, grant: Op) -> float:
        """Return when the owner stopped believing that it held this grant; infinity if it never did."""
        given_back = self._first_call[bisect_left(self._given_back, grant.called)]
        lost = bisect_left(self._lost, grant.called)
        return min(
            given_back, max(self._lost[lost], grant.returned or 0) if lost < len(self._lost) else math.inf
        )
