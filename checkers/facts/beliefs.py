"""Beliefs: until when did a client take itself for the holder of a lock?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import accumulate

from checkers.facts.evidence import Evidence
from checkers.facts.leases import ENDS
from checkers.history.faults import client_of, faults_of
from checkers.history.records import Op, Outcome


def killed_at(evidence: Evidence) -> Callable[[Op], float]:
    """Return when the client of an operation was killed after it had called that; infinity if it was not."""
    header = evidence.history.header
    if header.clients is None:
        return lambda _op: math.inf
    kills: dict[int | None, list[int]] = defaultdict(list)  # of each client, in the order of time
    for fault in faults_of(evidence.history.faults):
        if fault.kind == "kill":
            kills[fault.client].append(fault.began)

    def killed(op: Op) -> float:
        own = kills.get(client_of(op.process, header), [])
        after = bisect_left(own, op.called)
        return own[after] if after < len(own) else math.inf

    return killed


class Beliefs:
    """When the owner of some operations stopped to believe that it held a grant."""

    def __init__(self, operations: Iterable[Op]) -> None:
        operations = list(operations)
        given_back = sorted((_over(op), op.called) for op in operations if op.f in ENDS)
        self._given_back = [returned for returned, _ in given_back]
        called = (called for _, called in reversed(given_back))
        self._first_call = [*accumulate(called, min, initial=math.inf)][::-1]  # of those from each one on
        refused = (op for op in operations if op.f == "renew" and op.outcome is Outcome.FAIL)
        self._lost = sorted(map(_over, refused))

    def end(self, grant: Op) -> float:
        """When it stopped to believe in this grant."""
        given_back = self._first_call[bisect_left(self._given_back, grant.called)]
        lost = bisect_left(self._lost, grant.called)
        return min(
            given_back, max(self._lost[lost], grant.returned or 0) if lost < len(self._lost) else math.inf
        )


def _over(op: Op) -> float:
    return math.inf if op.returned is None else op.returned
