"""Tokens of grants: no two owners share one, and they rise with time.

An owner is fresh for every acquire, or it may acquire again: with the same token and
without a release between, that is the same hold. A new token is of a new hold, since
the lease may have ended in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from checkers.columnar.hold_columns import narrowed, of_lower_tokens, of_shared_tokens
from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.highwater import HighWater
from checkers.records import Op, Outcome


def granted(operations: Iterable[Op]) -> list[Op]:
    """The acquires that got the lock."""
    return [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]


def duplicate_tokens(evidence: Evidence) -> Iterator[Conflict]:
    """Grants that carry the token of another owner's grant; of two, the one that returned later."""
    for _, operations in sorted(narrowed(evidence, of_shared_tokens).by_resource("acquire").items()):
        first: dict[int | None, Op] = {}
        for grant in sorted(granted(operations), key=lambda op: op.returned or 0):
            other = first.setdefault(grant.token, grant)
            if other.owner != grant.owner:
                yield Conflict(
                    anomaly="duplicate-token",
                    rule=Rule.TOKEN_OF_ANOTHER,
                    accused=grant,
                    because=(other,),
                )


def token_regressions(evidence: Evidence) -> Iterator[Conflict]:
    """Grants whose attempt began after another hold's grant had returned with no lower a token."""
    involved = narrowed(evidence, of_lower_tokens)
    for _, operations in sorted(involved.by_resource("acquire", "release", "revoke").items()):
        grants = granted(operations)
        ends = _ends(operations)
        reached = HighWater(
            (grant.returned, grant.token, grant)
            for grant in grants
            if grant.returned is not None and grant.token is not None
        )
        for grant in grants:
            found = reached.before(grant.sent)
            if found is None or grant.token is None or found[0] < grant.token:
                continue
            other: Op | None = found[1]
            if same_hold(found[1], grant, ends):
                other = _highest_of_others(grants, grant, ends)
            if other is not None and other.token is not None and other.token >= grant.token:
                yield Conflict(
                    anomaly="token-regression",
                    rule=Rule.TOKEN_NOT_ABOVE,
                    accused=grant,
                    because=(other,),
                )


def same_hold(earlier: Op, later: Op, ends: dict[str | None, list[Op]]) -> bool:
    """Are these grants one hold: of one owner, with one token and no end of it known to lie between?"""
    return (earlier.owner, earlier.token) == (later.owner, later.token) and not any(
        earlier.precedes(end) and end.returned is not None and end.returned < later.sent
        for end in ends[earlier.owner]
    )


def _highest_of_others(grants: Sequence[Op], grant: Op, ends: dict[str | None, list[Op]]) -> Op | None:
    """Of the other holds that had been granted before the attempt, the one with the highest token."""
    others = (
        other
        for other in grants
        if other.returned is not None and other.returned < grant.sent and not same_hold(other, grant, ends)
    )
    return max(others, key=lambda other: other.token or 0, default=None)


def _ends(operations: Iterable[Op]) -> dict[str | None, list[Op]]:
    """The releases and revokes that certainly ended a hold, by owner."""
    ends: dict[str | None, list[Op]] = defaultdict(list)
    for op in operations:
        if op.f in {"release", "revoke"} and op.outcome is Outcome.OK:
            ends[op.owner].append(op)
    return ends
