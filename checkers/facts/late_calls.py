"""Releases and renewals called after their owner had lost the lock, which may have let another owner in."""

from __future__ import annotations

import math
from collections.abc import Iterator

from checkers.facts.by_call import ByCall
from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.holds import HoldIndex, holds_of
from checkers.facts.leases import ENDS
from checkers.history.records import Op, Outcome


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
        for op in self._calls[holder.resource].backwards(grant.returned or 0, holder.sent, but=holder):
            is_in_flight = op.f in ENDS and op.over > (holder.returned or 0)
            if is_in_flight or self.had_lost(op, holder):
                yield op

    def had_lost(self, op: Op, holder: Op) -> bool:
        """Had the owner of an operation lost the lock by its call, or by another holder's grant?"""
        return self.came_too_late(op) or self._was_over_by(op, holder.returned or 0)

    def came_too_late(self, op: Op) -> bool:
        """Had the owner of an operation lost the lock by its call, or never been granted it?"""
        hold = self._hold_of(op)
        return hold is None or self._holds.was_lost_before(hold, op.called)

    def _was_over_by(self, op: Op, moment: int) -> bool:
        """Was the lease of an operation's hold over by a moment, ignoring what its owner did to end it?"""
        hold = self._hold_of(op)
        return hold is not None and -math.inf < self._holds.promised_under(hold, op.called, moment) < moment

    def _hold_of(self, op: Op) -> int | None:
        """Return the last hold that the owner of an operation had asked for before its call."""
        holds = self._holds
        rows = [] if op.owner is None else holds.of_owner(op.owner, op.resource).tolist()
        asked = [row for row in rows if holds.granted[row] and holds.columns.called[row] <= op.called]
        return asked[-1] if asked else None
