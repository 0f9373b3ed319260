"""Early grants: was the lock given away while somebody's lease was still promised?

A grant to B is early iff it returned before the end of A's lease (see `leases`) and was
certainly the later of the two: it was sent after A's grant had returned, or its token is
above A's. Tokens decide that only where they can be trusted: on a resource where a token
regressed or was given to two owners, and of a grant without a token, real time alone counts.

If nothing tells which grant was the later one, and each returned before the end of the other's
lease, then whichever was later was early. Nothing is said so of two grants with one token, which are a
duplicate-token.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from checkers.explain.checker import Checker
from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.fault_steps import fault_steps
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import lock_on
from checkers.facts.evidence import Evidence
from checkers.facts.high_water import HighWater
from checkers.facts.leases import ENDS, Lease, promises
from checkers.facts.narrowing import narrowed, of_promised_leases
from checkers.history.columns import ABSENT, NEVER
from checkers.history.ranges import Above
from checkers.history.records import Op, Outcome
from checkers.rules.tokens import duplicate_tokens, token_regressions


def early_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another's lease was still promised."""
    involved = list(promises(narrowed(evidence, of_promised_leases)))
    untrusted = _with_misleading_tokens(evidence) if involved else set()
    for held in involved:
        if held:
            yield from _in_turn(held, are_trusted=held[0].grant.resource not in untrusted)


def _in_turn(held: Sequence[Lease], *, are_trusted: bool) -> Iterator[Conflict]:
    """The early grants of one resource; `are_trusted`: do its tokens tell the order of its grants?"""
    promised = _Promised(held)
    for later in held:
        found = [promised.sent_before(later)]
        if later.grant.token is not None and are_trusted:
            found.append(promised.below(later))
        holders = [lease for lease in found if lease and later.returned < lease.end]
        if holders:
            yield _early(later, max(holders, key=lambda lease: lease.end))
        elif other := promised.in_no_order(later, are_trusted=are_trusted):
            yield BOTH_PROMISED.conflict(
                later.grant, *each_once(later.grant, other.grant, other.set_by, later.set_by)
            )


def _with_misleading_tokens(evidence: Evidence) -> set[str]:
    """The resources whose tokens do not tell the order of their grants."""
    return {each.accused.resource for each in (*duplicate_tokens(evidence), *token_regressions(evidence))}


class _Promised:
    """The leases of one resource, for the earlier one of another owner that was promised longest."""

    def __init__(self, held: Sequence[Lease]) -> None:
        self._longest_first = sorted(held, key=lambda lease: -lease.end)
        self._after = HighWater((lease.returned, lease.end, lease) for lease in held)
        self._above = HighWater(
            (lease.grant.token, lease.end, lease) for lease in held if lease.grant.token is not None
        )

    def sent_before(self, later: Lease) -> Lease | None:
        """That of what had been granted before the later one was sent."""
        found = self._after.before(later.grant.sent)
        if found is None or found[0] <= later.returned:
            return None
        if found[1].grant.owner != later.grant.owner:
            return found[1]
        return self._of_another(later, self._by_time, (-later.grant.sent,))

    def below(self, later: Lease) -> Lease | None:
        """That of a lower token, if real time does not say the opposite, as in a token-regression."""
        token = later.grant.token
        found = None if token is None else self._above.before(token)
        if token is None or found is None or found[0] <= later.returned:
            return None
        if found[1].grant.owner != later.grant.owner and later.returned >= found[1].grant.sent:
            return found[1]
        return self._of_another(later, self._by_token, (-token, -later.returned - 1))

    def in_no_order(self, later: Lease, *, are_trusted: bool) -> Lease | None:
        """That of a grant that returned first, but while this one was in flight; each during the other's."""
        if later.end == -math.inf or (are_trusted and not self._is_any_without_token):
            return None
        longest = self._by_return.before(self._place[later.grant.index])
        if longest is None or longest[0] <= later.returned:
            return None
        limits = (later.grant.sent - 1, -later.end, -self._place[later.grant.index])
        token = self._token_or_place[later.grant.index]
        sides = [(side, side * token) for side in (1, -1)]
        if are_trusted and later.grant.token is not None:
            sides = [(-1, 0)]  # all that have no token
        found = [self._of_another(later, self._by_flight[side], (limit, *limits)) for side, limit in sides]
        return next((lease for lease in found if lease and later.returned < lease.end), None)

    def _of_another(self, later: Lease, leases: Sequence[Above], limits: Sequence[float]) -> Lease | None:
        """The longest above these limits whose owner has a higher number or a lower one."""
        own = self._owners[later.grant.owner]
        found = [each.first((side * own, *limits)) for each, side in zip(leases, (1, -1), strict=True)]
        places = [place for place in found if place is not None]
        return self._longest_first[min(places)] if places else None

    @cached_property
    def _owners(self) -> dict[str | None, int]:
        return {lease.grant.owner: number for number, lease in enumerate(self._longest_first)}

    @cached_property
    def _is_any_without_token(self) -> bool:
        return any(lease.grant.token is None for lease in self._longest_first)

    @cached_property
    def _place(self) -> dict[int, int]:
        """The place of each grant in the order in which they returned."""
        by_return = sorted(self._longest_first, key=lambda lease: (lease.returned, lease.grant.index))
        return {lease.grant.index: place for place, lease in enumerate(by_return)}

    @cached_property
    def _by_return(self) -> HighWater[Lease]:
        return HighWater((self._place[lease.grant.index], lease.end, lease) for lease in self._longest_first)

    @cached_property
    def _token_or_place(self) -> dict[int, int]:
        """The token of each grant; below all tokens, and different from each other, without one."""
        return {
            lease.grant.index: -1 - place if lease.grant.token is None else lease.grant.token
            for place, lease in enumerate(self._longest_first)
        }

    @cached_property
    def _by_time(self) -> Sequence[Above]:
        return self._both_sides(self._returned)

    @cached_property
    def _by_token(self) -> Sequence[Above]:
        """Those without a token are above no limit."""
        tokens = [
            ABSENT if lease.grant.token is None else -lease.grant.token for lease in self._longest_first
        ]
        return self._both_sides(tokens, [-lease.grant.sent for lease in self._longest_first])

    @cached_property
    def _by_flight(self) -> Mapping[int, Sequence[Above]]:
        """For higher tokens, and for lower ones."""
        tokens = [self._token_or_place[lease.grant.index] for lease in self._longest_first]
        places = [-self._place[lease.grant.index] for lease in self._longest_first]
        late = [-returned for returned in self._returned]
        return {
            side: self._both_sides([side * token for token in tokens], late, self._returned, places)
            for side in (1, -1)
        }

    @cached_property
    def _returned(self) -> list[int]:
        """When the grants returned, so that earlier is above."""
        return [-_moment(lease.returned) for lease in self._longest_first]

    def _both_sides(self, *columns: Sequence[int]) -> Sequence[Above]:
        owners = np.array([self._owners[lease.grant.owner] for lease in self._longest_first], dtype=np.int64)
        others = [np.array(column, dtype=np.int64) for column in columns]
        return Above(owners, *others), Above(-owners, *others)


def _moment(time: float) -> int:
    return NEVER if time == math.inf else int(time)


def _early(later: Lease, holder: Lease) -> Conflict:
    return LEASE_STILL_PROMISED.conflict(later.grant, *each_once(later.grant, holder.grant, holder.set_by))


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    """The end that is shown is the earlier of what these operations promised and of what all did."""
    grant, holder, setter = conflict.accused, conflict.because[0], conflict.because[-1]
    lease = _end(n, holder, setter)
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
            _promise(n, setter),
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
        others=chain(
            n.own(holder, holder.sent, setter.sent, "acquire"),
            n.own(holder, setter.sent, grant.returned or 0),
        ),
        cause=ended[-1:],
        fault=fault,
    )


def _both_promised(n: Narrator, conflict: Conflict) -> Story:
    """Two grants of which nothing tells the order."""
    last, other = conflict.accused, conflict.because[0]
    named = {op.owner: op for op in (last, *conflict.because)}  # the last of an owner is its setter
    ends = {op.owner: _end(n, op, named[op.owner]) for op in (other, last)}
    return Story(
        summary=(
            f"{n.whom(other)} and {n.whom(last)} were both granted {lock_on(last.resource)}, each while the"
            " lease of the other was promised: whichever was granted second was too early"
        ),
        steps=(
            *(
                step
                for op in (other, last)
                for step in (
                    *n.grant_steps(op),
                    _promise(n, named[op.owner]),
                    _kept_until(n, op, ends[op.owner]),
                )
            ),
            (
                f"Nothing tells which of the two was granted first: {n.whom(last)} had sent its request at"
                f" {n.at(last.sent)}, before the other grant returned, and no token orders them."
            ),
            (
                f"If it was {n.whom(other)}, {n.whom(last)} was granted the lock {n.answered(last)}, before"
                f" {n.at(ends[other.owner])}; if it was {n.whom(last)}, {n.whom(other)} was granted it"
                f" {n.answered(other)}, before {n.at(ends[last.owner])}. So one of them was too early."
            ),
        ),
        others=chain(*(n.own(op, op.sent, int(ends[op.owner])) for op in (other, last))),
        fault=n.service_fault(min(other.sent, last.sent), last.returned or 0),
    )


def _end(n: Narrator, holder: Op, setter: Op) -> float:
    """The end that is shown: the earlier of what the setter promised and of what all operations did."""
    return min(n.lease(holder), setter.sent + (setter.ttl or 0))


def _promise(n: Narrator, setter: Op) -> str:
    return (
        f"{_lease_asked_for(n, setter)}, and the lock service promised it for"
        f" {n.lasting(setter.ttl or 0)} from then on (line {setter.lines[-1]}):"
        f" at least until {n.at(setter.sent + (setter.ttl or 0))}."
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
    ended = n.own(holder, int(lease), lease, *ENDS)
    given_back = next((op for op in ended if op.called == lease), None)
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
# because: the other grant, what set its lease, what set the accused's
BOTH_PROMISED = Breach(anomaly="early-grant", rule="both-promised", story=_both_promised)

CHECKER = Checker(name="early-grant", evidence="observed", decides=("early-grant",), check=early_grants)
