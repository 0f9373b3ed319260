"""Leases: was the lock given away while somebody's lease was still promised?

A's *setters* are its acquire and its renews that did not fail. T is the latest
start of an ok setter that carries a ttl, and the lease is promised until T plus
the smallest ttl of the setters that had not returned before T: any of those may
have been the last one that the service saw. The promise ends with the call of
the first release or revoke, however that ended.

A grant to B is early iff it returned before that end and was certainly the
later of the two: it was sent after A's grant had returned, or its token is
above A's.

Time is the clients' own. A promise counts from when it was asked for, which is
before the service made it, so no clock of a server is needed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.columnar.hold_columns import narrowed, of_beliefs, of_promised_leases
from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.grants import granted
from checkers.highwater import HighWater
from checkers.records import Op, Outcome

ENDS = frozenset({"release", "revoke"})
"""The operations that end a hold, whatever the service says to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A grant, and how long the service promised it."""

    grant: Op
    end: float  # ns; -infinity where nothing was promised
    set_by: Op | None  # the setter that the promise counts from

    @property
    def returned(self) -> float:
        """When the grant came back, in ns."""
        return math.inf if self.grant.returned is None else self.grant.returned


def early_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another's lease was still promised."""
    for promised in leases(narrowed(evidence, of_promised_leases)):
        after = HighWater((lease.returned, lease.end, lease) for lease in promised)
        above = HighWater((lease.grant.token or 0, lease.end, lease) for lease in promised)
        for later in promised:
            found = [
                _longest(promised, later, after.before(later.grant.sent), _sent_after),
                _longest(promised, later, above.before(later.grant.token or 0), _token_above),
            ]
            holders = [lease for lease in found if lease and later.returned < lease.end]
            if holders:
                yield _early(later, max(holders, key=lambda lease: lease.end))


def double_beliefs(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another still believed that it held the lock (only counted).

    Belief lasts from the acquire's return to the release's call or the return
    of a renew that failed.
    """
    involved = narrowed(evidence, of_beliefs)
    for _, operations in sorted(involved.by_resource("acquire", "renew", "release", "revoke").items()):
        by_owner: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            by_owner[op.owner].append(op)
        believing: list[tuple[float, Op]] = []
        for grant in sorted(granted(operations), key=lambda op: op.returned or 0):
            returned = grant.returned or 0
            believing = [each for each in believing if each[0] > returned]
            others = [each for each in believing if each[1].owner != grant.owner]
            if others:
                yield Conflict(
                    anomaly="double-belief",
                    rule=Rule.BOTH_BELIEVED,
                    accused=grant,
                    because=(others[0][1],),
                )
            believing.append((belief_end(grant, by_owner[grant.owner]), grant))


def promised_until(grant: Op, renews: Iterable[Op], ends: Iterable[Op]) -> Lease:
    """How long a grant was promised; `renews` and `ends` are those of its owner."""
    setters = [grant, *(renew for renew in renews if renew.outcome is not Outcome.FAIL)]
    promises = [op for op in setters if op.outcome is Outcome.OK and op.ttl is not None]
    if not promises:
        return Lease(grant=grant, end=-math.inf, set_by=None)
    last = max(promises, key=lambda op: op.sent)
    open_ttls = [
        op.ttl for op in setters if op.ttl is not None and (op.returned is None or op.returned >= last.sent)
    ]
    given_up = [end.called for end in ends if end.returned is None or end.returned >= grant.called]
    return Lease(grant=grant, end=min([last.sent + min(open_ttls), *given_up]), set_by=last)


def leases(evidence: Evidence) -> Iterator[list[Lease]]:
    """Every grant of each resource, with how long it was promised."""
    for _, operations in sorted(evidence.by_resource("acquire", "renew", "release", "revoke").items()):
        renews: dict[str | None, list[Op]] = defaultdict(list)
        ends: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            if op.f == "renew":
                renews[op.owner].append(op)
            elif op.f != "acquire":
                ends[op.owner].append(op)
        yield [promised_until(grant, renews[grant.owner], ends[grant.owner]) for grant in granted(operations)]


def _longest(
    leases: Sequence[Lease],
    later: Lease,
    found: tuple[float, Lease] | None,
    is_later: Callable[[Lease, Lease], bool],
) -> Lease | None:
    """The earlier lease of another owner that was promised longest."""
    if found is None or found[0] <= later.returned:
        return None
    if found[1].grant.owner != later.grant.owner and is_later(later, found[1]):
        return found[1]
    others = [each for each in leases if each.grant.owner != later.grant.owner and is_later(later, each)]
    return max(others, key=lambda lease: lease.end, default=None)


def _sent_after(later: Lease, earlier: Lease) -> bool:
    return later.grant.sent > earlier.returned


def _token_above(later: Lease, earlier: Lease) -> bool:
    """Do the tokens say so, and real time not the opposite, as in a token-regression?"""
    is_above = (later.grant.token or 0) > (earlier.grant.token or 0)
    return is_above and later.returned >= earlier.grant.sent


def _early(later: Lease, holder: Lease) -> Conflict:
    because = [holder.grant]
    if holder.set_by is not None and holder.set_by is not holder.grant:
        because.append(holder.set_by)
    return Conflict(
        anomaly="early-grant",
        rule=Rule.LEASE_STILL_PROMISED,
        accused=later.grant,
        because=tuple(because),
    )


def belief_end(grant: Op, operations: Iterable[Op]) -> float:
    """When the owner of these operations stopped to believe that it held this grant."""
    ends = [math.inf]
    for op in operations:
        if op.f in {"release", "revoke"} and (op.returned is None or op.returned >= grant.called):
            ends.append(op.called)
        elif op.f == "renew" and op.outcome is Outcome.FAIL and op.returned is not None:
            ends.append(max(op.returned, grant.returned or 0))
    return min(ends)
