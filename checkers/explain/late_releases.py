"""What may have ended a hold before its time: late releases and renewals of other holds."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from checkers.facts.by_call import ByCall
from checkers.facts.leases import ENDS, leases_of
from checkers.history.records import Op, Outcome

Owners = Mapping[tuple[str, str | None], Sequence[Op]]
"""What each owner did with each lock, by resource and owner."""

_MOST = 2  # that are looked for: the last, and whether there is another one


class LateReleases:
    """The releases and renewals of all holds, but for those that failed."""

    def __init__(self, owners: Owners, whom: Callable[[Op], str]) -> None:
        self._owners = owners
        self._whom = whom
        answered: dict[str, list[Op]] = defaultdict(list)
        renewals: dict[str, list[Op]] = defaultdict(list)
        self._unanswered: dict[tuple[str, str | None], list[Op]] = defaultdict(list)  # None: of any client
        for (resource, _), own in owners.items():
            for op in own:
                if op.f == "renew" and op.outcome is not Outcome.FAIL:
                    renewals[resource].append(op)
                elif op.f in ENDS and op.outcome is Outcome.OK:
                    answered[resource].append(op)
                elif op.f in ENDS and op.outcome is Outcome.INFO:
                    self._unanswered[resource, None].append(op)
                    self._unanswered[resource, whom(op)].append(op)
        self._answered = {resource: ByCall(found) for resource, found in answered.items()}
        self._renewals = {resource: ByCall(found) for resource, found in renewals.items()}
        for found in self._unanswered.values():
            found.sort(key=attrgetter("called"))
        self._kept: dict[tuple[str, str | None], tuple[list[int], list[float]]] = {}

    def between(self, holder: Op, grant: Op) -> tuple[Op, ...]:
        """See `Narrator.may_have_ended`; of many the last two, by call."""
        return (
            self._late(self._answered, holder, grant)
            or self._last_unanswered(holder, grant)
            or self._late(self._renewals, holder, grant)
        )

    def _late(self, found: Mapping[str, ByCall], holder: Op, grant: Op) -> tuple[Op, ...]:
        late: list[Op] = []
        if holder.resource in found:
            for op in found[holder.resource].backwards(grant.returned or 0, holder.sent, but=holder):
                if not self._is_promised_at(op, holder.returned or 0):
                    late.append(op)
                if len(late) == _MOST:
                    break
        return tuple(reversed(late))

    def _last_unanswered(self, holder: Op, grant: Op) -> tuple[Op, ...]:
        for client in (self._whom(holder), None):
            found = self._unanswered.get((holder.resource, client), ())
            for place in range(
                bisect_right(found, grant.returned or 0, key=attrgetter("called")) - 1, -1, -1
            ):
                if found[place].owner != holder.owner:
                    return (found[place],)
        return ()

    def _is_promised_at(self, op: Op, moment: int) -> bool:
        """Was the hold that an operation is of promised at a moment, but for its own end?"""
        calls, ends = self._kept_leases(op.resource, op.owner)
        begun = bisect_right(calls, op.called)
        return begun > 0 and ends[begun - 1] > moment

    def _kept_leases(self, resource: str, owner: str | None) -> tuple[list[int], list[float]]:
        """When each grant of an owner was called, and until when it was promised but for its end."""
        if (resource, owner) not in self._kept:
            leases = leases_of(op for op in self._owners[resource, owner] if op.f not in ENDS)
            self._kept[resource, owner] = (
                [lease.grant.called for lease in leases],
                [lease.end for lease in leases],
            )
        return self._kept[resource, owner]
