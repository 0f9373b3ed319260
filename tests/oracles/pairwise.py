"""Pairwise definitions of the anomalies of locks and lists: slow and plain.

Each function returns the indexes of the accused operations of one resource. The fast
checkers are tested against these. `tokens_rise` defines the rule of tokens as a
precedence graph, too. The other rules concern promised time or a client's beliefs,
which are not questions of an order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from checkers.history.records import Op, Outcome
from checkers.reference.precedence import Precedence, Why

_ENDS = ("release", "revoke")


def token_regressions(operations: Iterable[Op]) -> set[int]:
    """Return the grants attempted after another hold's had returned, without a higher token."""
    return {
        later.index
        for earlier, later in _different_holds(with_token(operations))
        if _granted_before(earlier, later) and _token(later) <= _token(earlier)
    }


def duplicate_tokens(operations: Iterable[Op]) -> set[int]:
    """Return the grants that carry the same token as a grant to another owner, whatever their times."""
    return {
        one.index
        for one, other in permutations(grants(with_token(operations)), 2)
        if one.owner != other.owner and one.token == other.token
    }


def tokens_rise(operations: Sequence[Op]) -> bool:
    """Can the grants be ordered in real time such that each hold's token is above the one before?

    They can iff no token regressed or came twice. One direction is plain. For the other,
    follow a cycle: no token falls along it if none regressed, so all are equal, and two
    holds with one token are a regression or a duplicate.
    """
    order = Precedence({})
    for earlier, later in _different_holds(operations):
        if _granted_before(earlier, later):
            order.add(earlier.index, Why.REAL_TIME, later.index)
        if _token(earlier) <= _token(later):
            order.add(earlier.index, Why.TOKEN_ORDER, later.index)
    return order.is_acyclic()


def early_grants(operations: Sequence[Op]) -> set[int]:
    """Return the grants made while another owner's lease was still promised.

    Token order decides which of two grants was later, unless real time contradicts it. Tokens
    that regressed or were given to several owners decide nothing. If nothing decides, and each
    grant came while the other's lease was promised, the later one was early, whichever it was:
    the one that returned last is named. A hold that is granted again was early only once.
    """
    trusted = not (token_regressions(operations) or duplicate_tokens(operations))

    def is_later(later: Op, holder: Op) -> bool:
        by_token = trusted and _has_higher_token(later, holder) and not _granted_before(later, holder)
        return _granted_before(holder, later) or by_token

    def is_during(later: Op, holder: Op) -> bool:
        return _returned(later) < _promised_until(holder, operations)

    def is_one_of_two(last: Op, other: Op) -> bool:
        is_last = (_returned(other), other.index) < (_returned(last), last.index)
        is_ordered = is_later(last, other) or is_later(other, last)
        share_a_token = last.token is not None and last.token == other.token
        return is_last and not is_ordered and not share_a_token and is_during(other, last)

    early = {
        later.index: later
        for holder, later in permutations(grants(operations), 2)
        if holder.owner != later.owner
        and is_during(later, holder)
        and (is_later(later, holder) or is_one_of_two(later, holder))
    }
    first: dict[int, int] = {}
    for index, later in sorted(early.items()):
        hold = _hold_of(later, [op for op in operations if op.owner == later.owner])
        first.setdefault(min(op.index for op in hold), index)
    return {*first.values()}


def double_beliefs(operations: Sequence[Op]) -> set[int]:
    """Return the grants that came back while another owner still believed that it held the lock."""
    return {
        later.index
        for earlier, later in permutations(grants(operations), 2)
        if earlier.owner != later.owner
        and (_returned(earlier), earlier.index) < (_returned(later), later.index)
        and _returned(later) < min(_believed_until(earlier, operations), _believed_until(later, operations))
    }


def double_grants(operations: Sequence[Op], faults: Sequence[tuple[float, float]] = ()) -> set[int]:
    """Return the grants made while another owner held the lock, if one of the two grants has no promise.

    Nothing in the record explains it. Until then, no promise was over, and no owner had called for the
    end of its hold, had been refused a renewal or had ended a call in info. None of the `faults`, each
    from one moment to another, was in force since the earlier call.
    """

    def is_promised(grant: Op) -> bool:
        return _promised_until(grant, operations) > -math.inf

    def may_be_over(grant: Op, moment: float) -> bool:
        ended = [*_given_up(grant, operations), *_lost(grant, operations)]
        ended += [_promised_until(grant, operations)] if is_promised(grant) else []
        return any(each <= moment for each in ended)

    return {
        later.index
        for other, later in permutations(grants(operations), 2)
        if other.owner != later.owner
        and (_returned(other), other.index) < (_returned(later), later.index)
        and not (is_promised(other) and is_promised(later))
        and not any(may_be_over(grant, _returned(later)) for grant in (other, later))
        and not any(
            began <= _returned(later) and min(other.called, later.called) <= healed
            for began, healed in faults
        )
    }


def late_writes(operations: Sequence[Op], stale: Iterable[int]) -> set[int]:
    """Return the writes that took effect, called after a grant with a higher token had returned.

    Stale writes are excluded: a higher token had been accepted before them.
    """
    read = {op.value for op in operations if op.f == "read" and op.outcome is Outcome.OK}
    return {
        write.index
        for write in operations
        if write.f == "write" and (write.outcome is Outcome.OK or write.value in read)
        if any(grant.precedes(write) and _token(grant) > _token(write) for grant in grants(operations))
    } - set(stale)


def with_token(operations: Iterable[Op]) -> list[Op]:
    """Return all operations except grants without a token, which the rules of tokens do not compare."""
    return [
        op for op in operations if op.f != "acquire" or op.outcome is not Outcome.OK or op.token is not None
    ]


def grants(operations: Iterable[Op]) -> list[Op]:
    """Return the acquires that got the lock."""
    return [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]


def _different_holds(operations: Iterable[Op]) -> Iterator[tuple[Op, Op]]:
    """Yield pairs of grants that are different holds.

    Two grants are one hold if they have the same owner and token, and no known end of it in between.
    """
    ops = list(operations)
    ends = [op for op in ops if op.f in _ENDS and op.outcome is Outcome.OK]
    for one, other in permutations(grants(ops), 2):
        between = (
            (first.precedes(end) and _granted_before(end, second))
            for end in ends
            if end.owner == one.owner
            for first, second in ((one, other), (other, one))
        )
        if one.owner != other.owner or one.token != other.token or any(between):
            yield one, other


def _promised_until(grant: Op, operations: Sequence[Op]) -> float:
    """Return the end of the lease of a grant's hold, in ns; -infinity without a promise.

    T is the latest start of an ok setter of the hold that carries a ttl. The end is the earliest
    max(T, start) + ttl of the owner's acquires and renews that did not fail and had not returned before T.
    The first release or revoke that had not returned before the hold was asked for cuts it short at its
    call, however it ended.
    """
    own = [op for op in operations if op.owner == grant.owner and op.outcome is not Outcome.FAIL]
    hold = _hold_of(grant, own)
    begun = min(op.called for op in hold)
    acquires = [op for op in own if op.f == "acquire"]
    others = [op.called for op in acquires if op not in hold and _returned(op) >= begun]
    is_first = not any(op.index < hold[0].index for op in acquires)
    renews = [
        op
        for op in own
        if op.f == "renew"
        and (op.called >= begun or is_first)
        and _returned(op) < min(others, default=math.inf)
    ]
    starts = [op.sent for op in (*hold, *renews) if op.outcome is Outcome.OK and op.ttl is not None]
    if not starts:
        return -math.inf
    last = [
        max(*starts, op.sent) + op.ttl
        for op in own
        if op.f in ("acquire", "renew") and op.ttl is not None and not _returned(op) < max(starts)
    ]
    return min([*last, *_given_up(hold[0], operations)])


def _hold_of(grant: Op, own: Sequence[Op]) -> list[Op]:
    """Return the acquires of a grant's hold, by call: same token, and no release in between that ended ok."""
    ended = [op.called for op in own if op.f in _ENDS and op.outcome is Outcome.OK]

    def is_same(one: Op, other: Op) -> bool:
        first, last = sorted((one.called, other.called))
        return not any(first < called < last for called in ended)

    return [
        op
        for op in grants(own)
        if op is grant or (op.token is not None and op.token == grant.token and is_same(op, grant))
    ]


def _believed_until(grant: Op, operations: Iterable[Op]) -> float:
    """Return when the owner stopped believing in its hold, in ns: it called for the end, or was refused."""
    ops = list(operations)
    refused = [
        max(_returned(op), _returned(grant))
        for op in ops
        if op.f == "renew" and op.owner == grant.owner and op.outcome is Outcome.FAIL
        if not op.precedes(grant)
    ]
    return min([*refused, *_given_up(grant, ops)], default=math.inf)


def _lost(grant: Op, operations: Iterable[Op]) -> list[float]:
    """Return when the owner was refused a renewal or an answer since it asked for this grant, in ns."""
    ops = list(operations)
    refused = [
        _returned(op)
        for op in ops
        if op.f == "renew" and op.owner == grant.owner and op.outcome is Outcome.FAIL
    ]
    unanswered = [
        op.called if op.learned is None else op.learned
        for op in ops
        if op.outcome is Outcome.INFO and (op.owner == grant.owner or op.process == grant.process)
    ]
    return [moment for moment in (*refused, *unanswered) if moment >= grant.called]


def _given_up(grant: Op, operations: Iterable[Op]) -> list[int]:
    """Return when the owner called for the end of this hold, in ns."""
    return [
        op.called for op in operations if op.f in _ENDS and op.owner == grant.owner and not op.precedes(grant)
    ]


def _granted_before(earlier: Op, later: Op) -> bool:
    """Had the earlier grant returned before the request for the later one was sent?"""
    return _returned(earlier) < later.sent


def _returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned


def _has_higher_token(later: Op, earlier: Op) -> bool:
    return None not in {later.token, earlier.token} and _token(later) > _token(earlier)


def _token(op: Op) -> int:
    if op.token is None:
        raise ValueError(f"{op.f} at index {op.index} carries no token")
    return op.token
