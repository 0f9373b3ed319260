"""Operations by call, and those that were called after their owner had lost the lock.

A late release or renewal may have let another owner in.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from operator import attrgetter

import numpy as np

from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.holds import HoldIndex, holds_of
from checkers.facts.leases import ENDS
from checkers.history.columns import NEVER
from checkers.history.ranges import Above
from checkers.history.records import Op, Outcome


class ByCall:
    """Some operations, ordered by call."""

    def __init__(self, operations: Sequence[Op]) -> None:
        self._last_first = sorted(operations, key=lambda op: op.called)[::-1]
        over = (NEVER if op.returned is None else op.returned for op in self._last_first)
        self._over = Above(np.fromiter(over, dtype=np.int64))

    def backwards(self, called: float, returned: int, *, but: Op | None = None) -> Iterator[Op]:
        """Yield the operations called by `called` that had not returned before `returned`, last call first.

        Those of the owner of `but` are skipped, since there may be many in a row.
        """
        following = bisect_left(self._last_first, -called, key=lambda op: -op.called)
        while (place := self._over.first((returned - 1,), following)) is not None:
            op, following = self._last_first[place], place + 1
            if but is not None and op.owner == but.owner:
                following = self._next_of_another[place]
            else:
                yield op

    @cached_property
    def _next_of_another(self) -> list[int]:
        """The next place of another owner, for each place."""
        sizes = [len([*own]) for _, own in groupby(self._last_first, key=attrgetter("owner"))]
        return [end for size, end in zip(sizes, accumulate(sizes), strict=True) for _ in range(size)]


@memoized_as_seen
def late_calls_of(evidence: Evidence) -> LateCalls:
    """Return the releases and renewals of a history."""
    return LateCalls(evidence)


class LateCalls:
    """The releases and renewals of all owners, except those that failed."""

    def __init__(self, evidence: Evidence) -> None:
        self._holds: HoldIndex = holds_of(evidence)
        self._calls = {
            resource: ByCall([op for op in calls if op.outcome is not Outcome.FAIL])
            for resource, calls in evidence.by_resource("renew", *ENDS).items()
        }

    def between(self, holder: Op, grant: Op) -> Iterator[Op]:
        """Yield calls of other owners that may have taken effect between two grants, the last one first.

        Their owners had lost the lock when they called, or their leases were over by the first grant. A
        release that was unanswered by then may have taken effect at any time before its answer.
        """
        if holder.resource not in self._calls:
            return
        for op in self._calls[holder.resource].backwards(grant.over, holder.sent, but=holder):
            is_in_flight = op.f in ENDS and op.over > holder.over
            if is_in_flight or self.had_lost(op, holder):
                yield op

    def had_lost(self, op: Op, holder: Op) -> bool:
        """Had the owner of an operation lost the lock by its call, or by another holder's grant?"""
        hold = self._hold_of(op)
        if hold is None or self._holds.was_lost_before(hold, op.called):
            return True
        return -math.inf < self._holds.promised_under(hold, op.called, holder.over) <= holder.over

    def came_too_late(self, op: Op) -> bool:
        """Had the owner of an operation lost the lock by its call, or never been granted it?"""
        hold = self._hold_of(op)
        return hold is None or self._holds.was_lost_before(hold, op.called)

    def _hold_of(self, op: Op) -> int | None:
        """Return the last hold that the owner of an operation had asked for before its call."""
        holds = self._holds
        rows = [] if op.owner is None else holds.of_owner(op.owner, op.resource).tolist()
        asked = [row for row in rows if holds.granted[row] and holds.columns.called[row] <= op.called]
        return asked[-1] if asked else None
