"""Fast path that recognizes short right histories of a fenced storage.

On a few operations array passes cost more than they save, and most short histories are right.
So this checks the conditions of a fenced register in their plain form:

- every value read was written, with its token and not later;
- nothing carries a lower token than what had surely been reached before it was called;
- each rejected write had a cause (see `rejections`).

If they hold, the rules have nothing to find. The rules judge everything else: fences, writes without
a token, tokens that several accepted writes share, appends, and every wrong history.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.facts.evidence import Evidence
from checkers.history.memoized import memoized
from checkers.history.records import Header, Op, Outcome

SHORT = 64
"""The most operations of a history that is checked here first."""

_OTHERS = {"fence", "append", "acquire"}


@dataclass(slots=True)
class _Accepted:
    """A write that took effect."""

    token: int
    called: float
    settled: float  # when it was certainly there, see `clusters`
    claimed: float  # the last moment at which it is known to have been there


@memoized
def attempts_if_right(evidence: Evidence) -> dict[str, int] | None:
    """Return the count of stale writes tried, as `attempts` does; None: the rules must judge."""
    operations, header = evidence.history.operations, evidence.history.header
    if len(operations) > SHORT or evidence.log is not None or not header.fenced:
        return None
    registers: dict[str, list[Op]] = {}
    for op in operations:
        if op.f in _OTHERS:
            return None
        if op.f in {"write", "read"}:
            registers.setdefault(op.resource, []).append(op)
    tried = 0
    for own in registers.values():
        rejected = _rejected(own, header)
        if rejected is None:
            return None
        tried += rejected
    return {
        "late_writes_attempted": 0,
        "stale_writes_attempted": tried,
        "stale_writes_rejected": tried,
        "stale_writes_accepted": 0,
    }


def _rejected(operations: Sequence[Op], header: Header) -> int | None:
    """Return how many stale writes one register rejected; None if it may not be right."""
    accepted = _accepted(operations, header)
    if accepted is None:
        return None
    levels = {each.token for each in accepted.values()}
    if len(levels) < len(accepted) or not _rise(accepted.values(), header):
        return None
    others = [op for op in operations if op.f == "write" and op.index not in accepted]
    rejected = [op for op in others if op.outcome is Outcome.FAIL and op.error == "stale"]
    if not _have_causes(rejected, others, accepted.values(), header):
        return None
    written = [(each.token, each.called) for index, each in accepted.items() if index is not None]
    written += [(op.token, op.called) for op in others if op.outcome is Outcome.INFO and op.token is not None]
    return sum(
        any(token > (op.token or 0) and called <= op.over for token, called in written) for op in rejected
    )


def _accepted(operations: Iterable[Op], header: Header) -> dict[int | None, _Accepted] | None:
    """Return what took effect, by the index of its write (None: before the run); None if a read is wrong."""
    accepted: dict[int | None, _Accepted] = {
        None: _Accepted(header.initial_token, -math.inf, -math.inf, -math.inf)
    }
    writes = {op.value: op for op in operations if op.f == "write"}
    for op in operations:
        write: Op | None = op
        if op.f == "read":
            write = writes.get(op.value)
        if op.outcome is not Outcome.OK:
            if op.f == "write" and op.token is None:
                return None
            continue
        token = header.initial_token if write is None else write.token
        if token is None or token != op.token or (write is None and op.value != header.initial_value):
            return None
        if write is not None and (write.outcome is Outcome.FAIL or op.precedes(write)):
            return None
        _see(accepted, op, write)
    return accepted


def _see(accepted: dict[int | None, _Accepted], op: Op, write: Op | None) -> None:
    """Note that an answer to a write or a read shows that the write took effect."""
    if write is None:
        own = accepted[None]
    else:
        new = _Accepted(op.token or 0, write.called, math.inf, write.called)
        own = accepted.setdefault(write.index, new)
        own.settled = min(own.settled, op.over)
    own.claimed = max(own.claimed, op.called)


def _rise(accepted: Iterable[_Accepted], header: Header) -> bool:
    """Does nothing carry a lower token than what had surely been reached before it was called?"""
    ordered = sorted(accepted, key=lambda each: each.token)
    latest_call = -math.inf
    for each in ordered:
        if each.settled < latest_call:
            return False
        latest_call = max(latest_call, each.claimed)
    return ordered[0].token == header.initial_token


def _have_causes(
    rejected: Sequence[Op], others: Iterable[Op], accepted: Iterable[_Accepted], header: Header
) -> bool:
    """Had each rejected write a cause, and was nothing below the cause called after the rejection?"""
    if not rejected:
        return True
    definite = {each.token: each.called for each in accepted}
    possible = dict(definite)
    for op in others:
        if op.outcome is Outcome.INFO and op.token is not None:
            is_used_up = header.policy == "strict" and op.token in definite
            if not is_used_up:
                possible[op.token] = min(possible.get(op.token, math.inf), op.called)
    levels = sorted(possible)
    accepted = list(accepted)
    for op in rejected:
        least = (op.token or 0) + (header.policy == "inclusive")
        end = op.over
        high_enough = (each for each in levels if each >= least)
        cause = next((each for each in high_enough if possible[each] <= end or each in definite), None)
        if cause is None or possible[cause] > end:
            return False  # no cause, or one that a level which came too late hides
        if any(each.token < cause and each.claimed > end for each in accepted):
            return False
    return True
