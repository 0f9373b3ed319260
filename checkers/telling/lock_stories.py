"""How each breach of a lock service's rules is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from checkers.conflict import Conflict, Rule
from checkers.leases import ENDS
from checkers.records import Op
from checkers.telling.circles import circle_of_grants
from checkers.telling.contents import lock_on
from checkers.telling.narrator import Narrator, Story


def _token_of_another(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} were both granted {lock_on(grant.resource)}"
            f" with token {grant.token}"
        ),
        steps=(
            *n.grant_steps(*sorted((other, grant), key=lambda each: each.returned or 0)),
            (
                f"These are two grants to two owners, {other.owner} and {grant.owner}, and each has to"
                f" get a token of its own: a storage that is shown token {grant.token} cannot tell whose"
                " write it is."
            ),
        ),
    )


def _token_not_above(n: Narrator, conflict: Conflict) -> Story:
    grant, earlier = conflict.accused, conflict.because[0]
    ends = [op for op in conflict.proof if op.f in ENDS]
    same = earlier.token == grant.token
    return Story(
        summary=(
            f"{n.whom(grant)} was granted {lock_on(grant.resource)} with token {grant.token}"
            f" {n.answered(grant)}, though {'the same' if same else 'the higher'} token {earlier.token} had"
            f" been granted {n.answered(earlier)}"
        ),
        steps=(
            *(_gave_back(n, end) for end in ends),
            *circle_of_grants(
                n, earlier, grant, "a storage takes this newer holder for an older one, or for the same"
            ),
        ),
    )


def _gave_back(n: Narrator, end: Op) -> str:
    return (
        f"{n.who(end)} gave the lock back in between: its {end.f} was acknowledged {n.answered(end)}, so"
        " what came after is another hold."
    )


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    """The end that is told is the earlier of what these operations promised and of what all did."""
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    lease = min(n.lease(holder), setter.sent + (setter.ttl or 0))
    in_time = (holder.returned or 0) < grant.sent
    faults = n.service_faults(holder.sent, grant.returned or 0)[:1]
    ended = n.may_have_ended(holder, grant) if in_time and not faults else ()
    return Story(
        summary=(
            f"{n.whom(grant)} was granted {lock_on(grant.resource)} at {n.at(grant.returned or 0)},"
            f" while the lease of {n.whom(holder)} was promised until {n.at(lease)}"
        ),
        steps=(
            *n.grant_steps(holder),
            (
                f"{_lease_asked_for(n, setter)}, and the lock service promised it for"
                f" {n.lasting(setter.ttl or 0)} from then on (line {setter.lines[-1]}):"
                f" until {n.at(setter.sent + (setter.ttl or 0))} at the least."
            ),
            _kept_until(n, holder, lease),
            f"{n.who(grant)} was the later holder: {_later(n, holder, grant)}.",
            *(faults or [_freed_by(n, holder, ended) if in_time else _or_out_of_order(n, grant)]),
            (
                f"So{'' if in_time else ', by the tokens,'} the lock was given to {n.whom(grant)}"
                f" {n.answered(grant)}, which is before {n.at(lease)}: too early."
            ),
        ),
        others=n.own(holder),
        cause=ended[-1:],
    )


def _or_out_of_order(n: Narrator, grant: Op) -> str:
    """Where only tokens say which grant was the later one, they may be what is wrong."""
    return (
        f"{n.who(grant)} had sent the request that was granted before that, at {n.at(grant.sent)}: if the"
        " lock was its own first, the tokens are not in the order of the grants, as where a token is drawn"
        " after the grant, in a step of its own."
    )


def _freed_by(n: Narrator, holder: Op, ended: Sequence[Op]) -> str:
    """What somebody else did to the lock in between; that it ended the hold is only probable."""
    if not ended:
        return (
            "Meanwhile no release or renewal of another hold came too late: the lock service itself gave"
            f" away the lock of {n.whom(holder)}."
        )
    named = ended[-1]
    others = "" if len(ended) == 1 else f", or one of {len(ended) - 1} others,"
    effect = "changed" if named.f == "renew" else "freed"
    return (
        f"Meanwhile {n.whom(named)} sent the {named.f} of another hold {n.sent(named)}, answered"
        f" {n.answered(named)}: it{others} probably {effect} the lock of {n.whom(holder)}."
    )


def _kept_until(n: Narrator, holder: Op, lease: float) -> str:
    given_back = next((op for op in n.own(holder) if op.f in ENDS and op.called == lease), None)
    if given_back is None:
        return f"Until then {n.whom(holder)} had not begun to give it back."
    return (
        f"{n.who(holder)} began to give it back only at {n.at(lease)} (line {given_back.lines[0]}):"
        " the promise stood until then."
    )


def _lease_asked_for(n: Narrator, setter: Op) -> str:
    if setter.f == "renew":
        return f"Its lease was renewed: {n.whom(setter)} asked for that {n.sent(setter)}"
    return f"Its lease was asked for at {n.at(setter.sent)}"


def _later(n: Narrator, holder: Op, grant: Op) -> str:
    """By which reason one grant came after the other."""
    if (holder.returned or 0) < grant.sent:
        return f"by real time, {n.began(grant)}"
    return f"by token order, it got token {grant.token}, which is above {holder.token}"


def _both_believed(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} both believed that they held {lock_on(grant.resource)}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            f"{n.who(other)} had not begun to give it back, nor been told that it was lost.",
        ),
    )


LOCK_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.TOKEN_OF_ANOTHER: _token_of_another,
    Rule.TOKEN_NOT_ABOVE: _token_not_above,
    Rule.LEASE_STILL_PROMISED: _lease_still_promised,
    Rule.BOTH_BELIEVED: _both_believed,
}
