"""Early grants: was the lock given away while somebody's lease was still promised?

A grant to B is early iff it returned before the end of A's lease (see `leases`) and was
certainly the later of the two: it was sent after A's grant had returned, or its token is
above A's. Tokens decide that only where they can be trusted: on a resource where a token
regressed or was given to two owners, and of a grant without a token, real time alone counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checkers.checker import Checker
from checkers.conflict import Breach, Conflict, each_once
from checkers.evidence import Evidence
from checkers.explain.fault_steps import fault_steps
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import lock_on
from checkers.high_water import HighWater
from checkers.history.records import Op, Outcome
from checkers.locks.holds import narrowed, of_promised_leases
from checkers.locks.leases import ENDS, Lease, promises
from checkers.locks.tokens import duplicate_tokens, token_regressions


def early_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another's lease was still promised."""
    involved = list(promises(narrowed(evidence, of_promised_leases)))
    untrusted = _with_misleading_tokens(evidence) if involved else set()
    for held in involved:
        certain = [lease for lease in held if not lease.is_doubtful]
        after = HighWater((lease.since, lease.end, lease) for lease in held)
        above = HighWater(
            (lease.grant.token, lease.end, lease) for lease in certain if lease.grant.token is not None
        )
        for later in certain:
            found = [_longest(held, later, after.before(later.grant.sent), _sent_after)]
            if later.grant.token is not None and later.grant.resource not in untrusted:
                highest = above.before(later.grant.token)
                found.append(_longest(held, later, highest, _token_above))
            holders = [lease for lease in found if lease and later.returned < lease.end]
            if holders:
                yield _early(later, max(holders, key=lambda lease: lease.end))


def _with_misleading_tokens(evidence: Evidence) -> set[str]:
    """The resources whose tokens do not tell the order of their grants."""
    return {each.accused.resource for each in (*duplicate_tokens(evidence), *token_regressions(evidence))}


def _longest(
    held: Sequence[Lease],
    later: Lease,
    found: tuple[float, Lease] | None,
    is_later: Callable[[Lease, Lease], bool],
) -> Lease | None:
    """The earlier lease of another owner that was promised longest."""
    if found is None or found[0] <= later.returned:
        return None
    if found[1].grant.owner != later.grant.owner and is_later(later, found[1]):
        return found[1]
    others = [each for each in held if each.grant.owner != later.grant.owner and is_later(later, each)]
    return max(others, key=lambda lease: lease.end, default=None)


def _sent_after(later: Lease, earlier: Lease) -> bool:
    return later.grant.sent > earlier.since


def _token_above(later: Lease, earlier: Lease) -> bool:
    """Do the tokens say so, and real time not the opposite, as in a token-regression?"""
    if later.grant.token is None or earlier.grant.token is None or earlier.is_doubtful:
        return False
    return later.grant.token > earlier.grant.token and later.returned >= earlier.grant.sent


def _early(later: Lease, holder: Lease) -> Conflict:
    return LEASE_STILL_PROMISED.conflict(later.grant, *each_once(later.grant, holder.grant, holder.set_by))


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    """The end that is shown is the earlier of what these operations promised and of what all did."""
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    lease = min(n.lease(holder, setter), setter.sent + (setter.ttl or 0))
    in_time = (holder.returned or 0) < grant.sent
    fault = n.service_fault(holder.sent, grant.returned or 0)
    ended = n.may_have_ended(holder, grant) if in_time and fault is None else ()
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
                f" at least until {n.at(setter.sent + (setter.ttl or 0))}."
            ),
            _kept_until(n, holder, lease),
            f"{n.who(grant)} was the later holder: {_later(n, holder, grant)}.",
            *(
                list(fault_steps(n, fault))
                or [_freed_by(n, holder, ended) if in_time else _or_out_of_order(n, grant)]
            ),
            (
                f"So{'' if in_time else ', by the tokens,'} the lock was given to {n.whom(grant)}"
                f" {n.answered(grant)}, before {n.at(lease)}: too early."
            ),
        ),
        others=n.own(holder),
        cause=ended[-1:],
        fault=fault,
    )


def _or_out_of_order(n: Narrator, grant: Op) -> str:
    """Where only tokens say which grant was the later one, they may be what is wrong."""
    return (
        f"{n.who(grant)} had sent the request that was granted before that, at {n.at(grant.sent)}: if it"
        " held the lock first, the tokens are not in the order of the grants, for example because a token"
        " is drawn in a separate step after the grant."
    )


def _freed_by(n: Narrator, holder: Op, ended: Sequence[Op]) -> str:
    """What somebody else did to the lock in between; that it ended the hold is only probable."""
    if not ended:
        return (
            "No late release or renewal of another hold came in between: the lock service itself gave away"
            f" the lock of {n.whom(holder)}."
        )
    named = ended[-1]
    sent = f"sent the {named.f} of another hold {n.sent(named)}"
    if named.f in ENDS and named.outcome is Outcome.INFO:
        return (
            f"Before that, {n.whom(named)} had {sent}, and never learned its outcome: carried out late, or"
            f" repeated, it may have freed the lock of {n.whom(holder)}."
        )
    others = "" if len(ended) == 1 else f", or another {named.f} like it,"
    effect = "changed" if named.f == "renew" else "freed"
    return (
        f"In between, {n.whom(named)} {sent}, answered {n.answered(named)}: it{others} probably {effect}"
        f" the lock of {n.whom(holder)}."
    )


def _kept_until(n: Narrator, holder: Op, lease: float) -> str:
    given_back = next((op for op in n.own(holder) if op.f in ENDS and op.called == lease), None)
    if given_back is None:
        return f"Until then {n.whom(holder)} had not started to release it."
    return (
        f"{n.who(holder)} started to release it only at {n.at(lease)} (line {given_back.lines[0]}):"
        " the promise held until then."
    )


def _lease_asked_for(n: Narrator, setter: Op) -> str:
    if setter.f == "renew":
        return f"Its lease was renewed: {n.whom(setter)} sent the renewal {n.sent(setter)}"
    return f"It requested its lease at {n.at(setter.sent)}"


def _later(n: Narrator, holder: Op, grant: Op) -> str:
    """By which reason one grant came after the other."""
    if (holder.returned or 0) < grant.sent:
        return f"by real time, {n.began(grant)}"
    return f"by token order, it got token {grant.token}, which is above {holder.token}"


# because: the holder's grant, what set its lease
LEASE_STILL_PROMISED = Breach(anomaly="early-grant", rule="lease-still-promised", story=_lease_still_promised)

CHECKER = Checker(name="early-grant", evidence="observed", decides=("early-grant",), check=early_grants)
