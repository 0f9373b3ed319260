"""Early grant: the service granted a lock while another client's lease was still promised.

A grant to B is early iff it returned before the end of A's lease (see `leases`) and was
certainly the later of the two: it was sent after A's grant had returned, or its token is
above A's. Tokens count only where they can be trusted. On a resource where a token regressed
or was given to two owners, and for a grant without a token, only real time counts.

If the order of two grants is unknown, and each returned before the end of the other's lease, the
later one was early, whichever it was. Two grants with one token are a duplicate-token instead.

If an owner is granted its hold again, only the first early grant of that hold counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain

from checkers.explain.causes import CallsBetween, of_early_grant, of_servers
from checkers.explain.conflict import Breach, Checker, Conflict, each_once
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, lock_on, step
from checkers.explain.telling import fault_steps, in_time_order, took, were_granted
from checkers.facts.evidence import Evidence
from checkers.facts.leases import ENDS, Lease, promises
from checkers.facts.narrowing import narrowed, of_promised_leases
from checkers.facts.promised_leases import PromisedLeases
from checkers.history.memoized import memoized
from checkers.history.records import Op
from checkers.rules.tokens import duplicate_tokens, token_regressions
from checkers.text.printable import request


def early_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Yield grants to one owner while another's lease was still promised."""
    for held in promises(narrowed(evidence, of_promised_leases)):
        if held:
            untrusted = _with_misleading_tokens(evidence)
            yield from _in_turn(held, are_trusted=held[0].grant.resource not in untrusted)


def _in_turn(held: Sequence[Lease], *, are_trusted: bool) -> Iterator[Conflict]:
    """Yield the early grants of one resource; `are_trusted`: its tokens show the order of its grants."""
    promised = PromisedLeases(held)
    found: set[int] = set()  # the holds
    for later in held:
        if later.hold in found:  # granted again
            continue
        before = promised.sent_before(later)
        below = promised.below(later) if later.grant.token is not None and are_trusted else None
        holders = [lease for lease in (before, below) if lease]
        if holders:
            holder = max(holders, key=lambda lease: lease.end)
            breach = LEASE_STILL_PROMISED if before in holders else PROMISED_BY_TOKENS
            found.add(later.hold)
            yield breach.conflict(later.grant, *each_once(later.grant, holder.grant, holder.set_by))
        elif other := promised.in_no_order(later, are_trusted=are_trusted):
            because = each_once(later.grant, other.grant, other.set_by, later.set_by)
            found.add(later.hold)
            yield BOTH_PROMISED.conflict(later.grant, *because)


@memoized
def _with_misleading_tokens(evidence: Evidence) -> dict[str, Conflict]:
    """Return the resources whose tokens do not show the order of their grants, and what shows that."""
    found = (*token_regressions(evidence), *duplicate_tokens(evidence))
    return {each.accused.resource: each for each in reversed(found)}


def _misleading(n: Narrator, conflict: Conflict) -> Sequence[Op]:
    """Return a grant and another that show why tokens do not order these two; none if one has no token."""
    shown = _with_misleading_tokens(n.evidence).get(conflict.accused.resource)
    have_tokens = None not in {conflict.accused.token, conflict.because[0].token}
    return (shown.accused, *shown.because) if shown is not None and have_tokens else ()


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    """Tell the story; the end it shows is the earlier of what these operations promised and what all did."""
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    lease = _end(n, holder, setter)
    in_time = (holder.returned or 0) < grant.sent
    late = CallsBetween.between(n, holder, grant)
    cause = of_early_grant(n, holder, grant, late)
    joined = " and" if _release(n, holder, setter) else ","
    is_of_service = cause and cause.fault and cause.fault.client is None
    return Story(
        summary=(
            f"{'' if in_time else 'by its token, '}{n.whom(grant)} was granted {lock_on(grant.resource)}"
            f" at {n.at(grant.returned or 0)},"
            f" while {_still(n, holder, setter)}"
        ),
        steps=(
            *_promised(n, holder, setter),
            step(f"{n.who(grant)} was the later holder: {_later(n, holder, grant)}.", holder, grant),
            *fault_steps(n, cause),
            *([] if is_of_service else [_root(n, conflict, late, cause)]),
            step(
                f"So{'' if in_time else ', by the tokens,'} the lock was given to {n.whom(grant)}"
                f" {n.answered(grant)}, before {n.at(lease)}: too early.",
                grant,
            ),
        ),
        others=chain(
            n.own(holder, holder.sent, setter.sent, "acquire"),
            n.own(holder, setter.sent, grant.returned or 0),
        ),
        sentences=in_time_order(
            n,
            cause,
            (holder.returned or 0, f"{took(n, holder)[:-1]}{joined} {_until(n, holder, setter)}."),
            *_came_before(n, cause),
            (math.inf, _was_granted_it(n, conflict, cause)),
        ),
        cause=cause,
    )


def _both_promised(n: Narrator, conflict: Conflict) -> Story:
    """Tell the story of two grants whose order is unknown."""
    last, other = conflict.accused, conflict.because[0]
    named = {op.owner: op for op in (last, *conflict.because)}  # an owner's last operation is its setter
    ends = {op.owner: _end(n, op, named[op.owner]) for op in (other, last)}
    granted = n.at(last.returned or 0)
    return Story(
        summary=(
            f"{were_granted(n, other, last)}, each while the lease of the other was promised:"
            " whichever was granted second was too early"
        ),
        steps=(
            *chain(*(_promised(n, op, named[op.owner]) for op in (other, last))),
            step(
                f"Nothing tells which of the two was granted first: {n.whom(last)} had sent its request at"
                f" {n.at(last.sent)}, before the other grant returned, and {_no_order(n, conflict)}.",
                *_misleading(n, conflict),
            ),
            step(
                f"If it was {n.whom(other)}, {n.whom(last)} was granted the lock {n.answered(last)}, before"
                f" {n.at(ends[other.owner])}; if it was {n.whom(last)}, {n.whom(other)} was granted it"
                f" {n.answered(other)}, before {n.at(ends[last.owner])}. So one of them was too early.",
                last,
                other,
            ),
        ),
        others=chain(*(n.own(op, op.sent, int(ends[op.owner])) for op in (other, last))),
        sentences=(
            took(n, other),
            f"{n.who(last)} was granted it too, at {granted}, before either lease had ended.",
            "Nothing tells which of the two came second: that one was too early.",
        ),
        cause=of_servers(n, "lock", (other, last)),
    )


def _no_order(n: Narrator, conflict: Conflict) -> str:
    """Say why tokens do not order two grants."""
    misleading = _misleading(n, conflict)
    if not misleading:
        return "no token orders them"
    grant, other = misleading[:2]
    answered = f"{n.whom(grant)} was granted the lock with token {grant.token} {n.answered(grant)}"
    shared = "another owner had that token, too"
    after = shared if grant.token == other.token else f"token {other.token} had been granted before"
    return f"tokens are in no order here: {answered}, and {after}"


def _still(n: Narrator, holder: Op, setter: Op) -> str:
    """Say until when a client could rely on its lock, by the operations that are shown."""
    if _release(n, holder, setter):
        return f"{n.whom(holder)} {_until(n, holder, setter)}"
    return f"the lease of {n.whom(holder)} was {_until(n, holder, setter)}"


def _until(n: Narrator, holder: Op, setter: Op) -> str:
    """Say what ended a lock: its release, or the end of its lease."""
    lease = _end(n, holder, setter)
    if release := _release(n, holder, setter):
        return f"held it until its {request(release.f)} at {n.at(release.called)}"
    return f"promised until {'at least ' if n.lease(holder) > lease else ''}{n.at(lease)}"


def _release(n: Narrator, holder: Op, setter: Op) -> Op | None:
    """Return what ended a lock before its lease did."""
    lease = _end(n, holder, setter)
    ended = n.own(holder, int(lease), lease, *ENDS)
    return next((op for op in ended if op.called == lease), None)


def _end(n: Narrator, holder: Op, setter: Op) -> float:
    """Return the shown end: the earlier of what the setter promised and what all operations did."""
    return min(n.lease(holder), setter.sent + (setter.ttl or 0))


def _promised(n: Narrator, holder: Op, setter: Op) -> tuple[Step, ...]:
    """Say who was granted a lock, and until when it was promised and kept."""
    return (*n.grant_steps(holder), _promise(n, setter), _kept_until(n, holder, setter))


def _promise(n: Narrator, setter: Op) -> Step:
    asked = f"It requested its lease at {n.at(setter.sent)}"
    if setter.f == "renew":
        asked = f"Its lease was renewed: {n.whom(setter)} sent the renewal {n.sent(setter)}"
    return step(
        f"{asked}, and the lock service promised it for"
        f" {n.lasting(setter.ttl or 0)} from then on (line {setter.lines[-1]}):"
        f" at least until {n.at(setter.sent + (setter.ttl or 0))}.",
        setter,
    )


def _root(n: Narrator, conflict: Conflict, late: CallsBetween, cause: Cause | None) -> Step:
    """Say what can have freed the lock, as far as the history shows."""
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    if late.answered:
        return _freed_by(n, holder, late.answered, is_certain=cause is not None and cause.certain)
    if (holder.returned or 0) >= grant.sent:  # only the tokens, which may be at fault, show which came later
        return step(
            f"{n.who(grant)} had sent the request that was granted before that, at {n.at(grant.sent)}: if it"
            " held the lock first, the tokens are not in the order of the grants, for example because a token"
            " is drawn in a separate step after the grant.",
            grant,
        )
    if late.others:
        own = (op for op in late.others if n.whom(op) == n.whom(holder))
        named = next(own, late.others[0])
        answer = (
            "never learned its outcome" if named.returned is None else f"got its answer {n.answered(named)}"
        )
        return step(
            f"{n.who(named)} had sent the {request(named.f)} of another hold {n.sent(named)},"
            f" and {answer}: carried out late, or repeated, it may have {_effect(named)} the lock of"
            f" {n.whom(holder)}.",
            named,
        )
    if setter.sent > (grant.returned or 0):
        return step(
            f"{n.who(setter)} sent that renewal only after {n.whom(grant)} had been granted the lock: the"
            " lock service took it for valid all the same.",
            setter,
            grant,
        )
    return step(
        "No late release or renewal of another hold came in between: the lock service itself gave away"
        f" the lock of {n.whom(holder)}.",
        holder,
    )


def _freed_by(n: Narrator, holder: Op, answered: Sequence[Op], *, is_certain: bool) -> Step:
    """Say what another hold's call did to the lock, and whether anything else can have ended this hold."""
    named = answered[0]
    others = "" if len(answered) == 1 else f", or another {request(named.f)} like it,"
    sent = f"{n.who(named)} sent the {request(named.f)} of another hold {n.sent(named)}"
    freed = _effect(named) if is_certain else f"probably {_effect(named)}"
    what = f"it{others} {freed} the lock of {n.whom(holder)}"
    return step(f"{sent}, and it was answered {n.answered(named)}: {what}.", named)


def _effect(late: Op) -> str:
    return "freed" if late.f in ENDS else "changed"


def _was_granted_it(n: Narrator, conflict: Conflict, cause: Cause | None) -> str:
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    if cause and cause.fault and cause.fault.client is not None:  # this fault stopped its client
        return (
            f"{n.who(grant)} had been granted it already, and got its higher token {grant.token} only then:"
            " the tokens are not in the order of the grants."
        )
    said = f"{n.who(grant)} was granted it at {n.at(grant.returned or 0)}"
    if setter.sent > (grant.returned or 0):
        return f"{said}, and {n.whom(holder)} could still renew its own lease at {n.at(setter.sent)}."
    if _release(n, holder, setter):
        return f"{said}, while {n.whom(holder)} still held it."
    return f"{said}, while the lease of {n.whom(holder)} was still promised."


def _came_before(n: Narrator, cause: Cause | None) -> Iterator[tuple[float, str]]:
    """Yield what an owner that had lost the lock did to it, and when."""
    late = None if cause is None else cause.operation
    if late is not None:
        sent = f"{n.who(late)} sent the {request(late.f)} of another hold at {n.at(late.called)}"
        yield late.called, f"{sent}, and got its ok at {n.at(late.returned or 0)}."


def _kept_until(n: Narrator, holder: Op, setter: Op) -> Step:
    release = _release(n, holder, setter)
    if release is None:
        return step(f"Until then {n.whom(holder)} had not started to release it.", holder)
    return step(
        f"{n.who(release)} started to release it only at {n.at(release.called)} (line {release.lines[0]}):"
        " the promise held until then.",
        release,
    )


def _later(n: Narrator, holder: Op, grant: Op) -> str:
    """Say why one grant is known to be later than the other."""
    if (holder.returned or 0) < grant.sent:
        return f"by real time, {n.began(grant)}"
    return f"by token order, it got token {grant.token}, which is above {holder.token}"


# because: the holder's grant, what set its lease
LEASE_STILL_PROMISED = Breach("early-grant", "lease-still-promised", _lease_still_promised)
# the same; only the tokens show that this grant came second
PROMISED_BY_TOKENS = Breach("early-grant", "promised-by-tokens", _lease_still_promised)
# because: the other grant, what set its lease, what set the accused's
BOTH_PROMISED = Breach("early-grant", "both-promised", _both_promised, needs=_misleading)

CHECKER = Checker("early-grant", "observed", early_grants)
