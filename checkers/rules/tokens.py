"""Rules for the tokens of grants: no two owners share one, and they rise with time.

An owner may be new for every acquire, or acquire again. A second grant with the same token and
no release in between is the same hold. A new token means a new hold, since
the lease may have ended in between. Grants without a token are not compared.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from checkers.explain.causes import of_two_grants
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.cycles import cycle_of_grants
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, lock_on, step
from checkers.explain.telling import in_time_order, steps_in_time_order, were_granted
from checkers.facts.evidence import Evidence
from checkers.facts.high_water import HighWater
from checkers.facts.leases import ENDS, by_owner, granted
from checkers.facts.narrowing import narrowed, of_lower_tokens, of_shared_tokens
from checkers.history.ranges import Above, AboveOfOthers
from checkers.history.records import Op, Outcome


def duplicate_tokens(evidence: Evidence) -> Iterator[Conflict]:
    """Yield grants that carry another owner's token; of two, the one that returned later."""
    for _, operations in sorted(narrowed(evidence, of_shared_tokens).by_resource("acquire").items()):
        first: dict[int | None, Op] = {}
        carried = (grant for grant in granted(operations) if grant.token is not None)
        for grant in sorted(carried, key=lambda op: op.returned or 0):
            other = first.setdefault(grant.token, grant)
            if other.owner != grant.owner:
                yield TOKEN_OF_ANOTHER.conflict(grant, other)


def token_regressions(evidence: Evidence) -> Iterator[Conflict]:
    """Yield grants whose attempt began after another hold's grant had returned with no lower token."""
    involved = narrowed(evidence, of_lower_tokens)
    for _, operations in sorted(involved.by_resource("acquire", "release", "revoke").items()):
        grants = granted(operations)
        ended = by_owner(op for op in operations if op.f in ENDS and op.outcome is Outcome.OK)
        holds = _OfTokens(grants, ended)
        reached = HighWater(
            (grant.returned, grant.token, grant)
            for grant in grants
            if grant.returned is not None and grant.token is not None
        )
        for grant in grants:
            found = reached.before(grant.sent)
            if found is None or grant.token is None or found[0] < grant.token:
                continue
            may_be_one = (found[1].owner, found[1].token) == (grant.owner, grant.token)
            other = holds.first_of_others(grant) if may_be_one else found[1]
            if other is not None:
                yield TOKEN_NOT_ABOVE.conflict(grant, other)


class _OfTokens:
    """The grants of each token, and the releases and revokes that certainly ended a hold, by owner."""

    def __init__(self, grants: Sequence[Op], ends: Mapping[str | None, Sequence[Op]]) -> None:
        self._ended = {
            owner: HighWater((end.returned, end.called, end) for end in own if end.returned is not None)
            for owner, own in ends.items()
        }
        self._of_token: dict[int | None, list[Op]] = defaultdict(list)
        for grant in grants:
            self._of_token[grant.token].append(grant)
        self._indexed: dict[int | None, tuple[Sequence[Op], AboveOfOthers, Above]] = {}

    def first_of_others(self, grant: Op) -> Op | None:
        """Return the first other hold with the same token that was granted before the attempt."""
        grants, of_others, of_all = self._prepared(grant.token)
        found = of_others.first(grant.owner, (-grant.sent,)), of_all.first((-self._last_end(grant),))
        places = [place for place in found if place is not None]
        return grants[min(places)] if places else None

    def _last_end(self, later: Op) -> float:
        """Return the call of the owner's last end that had returned before a grant was sent."""
        ends = self._ended.get(later.owner)
        last = None if ends is None else ends.before(later.sent)
        return -math.inf if last is None else last[0]

    def _prepared(self, token: int | None) -> tuple[Sequence[Op], AboveOfOthers, Above]:
        """Return the grants of a token that returned, and indexes by their returns, negated."""
        if token not in self._indexed:
            grants = [grant for grant in self._of_token[token] if grant.returned is not None]
            returned = np.array([-(grant.returned or 0) for grant in grants])
            of_others = AboveOfOthers([grant.owner for grant in grants], returned)
            self._indexed[token] = grants, of_others, Above(returned)
        return self._indexed[token]


def _token_of_another(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    cause = of_two_grants(n, other, grant)
    grants = sorted((other, grant), key=lambda each: each.returned or 0)
    returned = (each.returned or 0 for each in grants)
    return Story(
        summary=f"{were_granted(n, grant, other)} with token {grant.token}",
        steps=(
            *steps_in_time_order(n, cause, zip(returned, n.grant_steps(*grants), strict=True)),
            step(
                f"These are two grants to two owners, {other.owner} and {grant.owner}, and each needs its"
                f" own token: from token {grant.token}, a storage cannot tell whose write it gets."
            ),
        ),
        sentences=_short_story(n, other, grant, cause),
        cause=cause,
    )


def _token_not_above(n: Narrator, conflict: Conflict) -> Story:
    grant, earlier = conflict.accused, conflict.because[0]
    ends = [op for op in conflict.proof if op.f in ENDS]
    higher = f"the {'same' if earlier.token == grant.token else 'higher'} token {earlier.token}"
    cause = of_two_grants(n, earlier, grant)
    moral = "to a storage, this newer holder looks like an older one, or like the same one"
    return Story(
        summary=(
            f"{n.whom(grant)} was granted {lock_on(grant.resource)} with token {grant.token}"
            f" {n.answered(grant)}, though {higher} had been granted {n.answered(earlier)}"
        ),
        steps=(
            *steps_in_time_order(n, cause, ((end.returned or 0, _gave_back(n, end)) for end in ends)),
            *cycle_of_grants(n, earlier, grant, moral),
        ),
        sentences=_short_story(n, earlier, grant, cause),
        cause=cause,
    )


def _short_story(n: Narrator, one: Op, other: Op, cause: Cause | None) -> tuple[str, ...]:
    """Tell who was granted the lock with which token, and what happened in between."""
    first, second = sorted((one, other), key=lambda each: each.returned or 0)
    again = "the same token again" if first.token == second.token else f"token {second.token}"
    granted, then = first.returned or 0, second.returned or 0
    took = f"was granted {lock_on(first.resource)} with token {first.token} at {n.at(granted)}"
    took_again = f"{n.who(second)} was granted it at {n.at(then)}, with {again}."
    return in_time_order(n, cause, (granted, f"{n.who(first)} {took}."), (then, took_again))


def _end_between(n: Narrator, conflict: Conflict) -> list[Op]:
    """Return the release that makes two grants to one owner two holds."""
    earlier, later = conflict.because[0], conflict.accused
    if earlier.owner != later.owner:
        return []
    ends = n.own(earlier, earlier.returned or 0, later.sent, *ENDS)
    after = (op for op in ends if op.outcome is Outcome.OK and earlier.precedes(op))
    return [*islice((end for end in after if (end.returned or 0) < later.sent), 1)]


def _gave_back(n: Narrator, end: Op) -> Step:
    return step(
        f"{n.who(end)} released the lock in between: its {end.f} was acknowledged {n.answered(end)}, so"
        " the later grant is a new hold.",
        end,
    )


# because: the other grant
TOKEN_OF_ANOTHER = Breach("duplicate-token", "token-of-another", _token_of_another)
# because: the earlier grant
TOKEN_NOT_ABOVE = Breach("token-regression", "not-above", _token_not_above, needs=_end_between)

CHECKERS = (
    Checker("duplicate-token", "observed", duplicate_tokens),
    Checker("token-regression", "observed", token_regressions),
)
