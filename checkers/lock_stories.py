"""How each breach of a lock service's rules is told."""

from __future__ import annotations

from collections.abc import Callable

from checkers.conflict import Conflict, Rule
from checkers.narrator import Narrator, Story


def _token_of_another(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} were both granted the lock on {grant.resource}"
            f" with token {grant.token}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            (
                f"They are different owners ({other.owner} and {grant.owner}), so no storage can tell"
                " their writes apart."
            ),
        ),
        proof=(other, grant),
    )


def _token_not_above(n: Narrator, conflict: Conflict) -> Story:
    grant, earlier = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} was granted the lock on {grant.resource} with token {grant.token},"
            f" though token {earlier.token} had been granted before"
        ),
        steps=(
            *n.grant_steps(earlier),
            (
                f"After that, at {n.at(grant.sent)}, {n.whom(grant)} sent the request that was granted"
                f" (called at line {grant.lines[0]})."
            ),
            (
                f"It got token {grant.token} {n.answered(grant)}, which is not above {earlier.token}:"
                " a storage takes the newer holder for the older one."
            ),
        ),
        proof=(earlier, grant),
    )


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    grant, holder = conflict.accused, conflict.because[0]
    setter = conflict.because[-1]
    lease = n.lease(holder)
    return Story(
        summary=(
            f"{n.whom(grant)} was granted the lock on {grant.resource} at {n.at(grant.returned or 0)},"
            f" while the lease of {n.whom(holder)} was promised until {n.at(lease)}"
        ),
        steps=(
            *n.grant_steps(holder),
            (
                f"Its lease was last asked for at {n.at(setter.sent)} and promised until"
                f" {n.at(lease)} (line {setter.lines[-1]})."
            ),
            (
                f"It had not been given back when {n.whom(grant)} was granted the lock with token"
                f" {grant.token} {n.answered(grant)}: too early."
            ),
        ),
        proof=(holder, setter, grant),
    )


def _both_believed(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} both believed that they held the lock on {grant.resource}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            f"{n.who(other)} had not begun to give it back, nor been told that it was lost.",
        ),
        proof=(other, grant),
    )


LOCK_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.TOKEN_OF_ANOTHER: _token_of_another,
    Rule.TOKEN_NOT_ABOVE: _token_not_above,
    Rule.LEASE_STILL_PROMISED: _lease_still_promised,
    Rule.BOTH_BELIEVED: _both_believed,
}
