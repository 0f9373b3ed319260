"""The roles of a finding's operations: how each relates to the accused, without clients and times."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.history.records import Op, Outcome


def roles(accused: Op, against: Iterable[Op]) -> tuple[str, ...]:
    """Name the accused operation, then the kinds of operations that it contradicts, each once.

    For example "refused write", "newer write". Without clients, tokens and times, one mistake
    has the same roles in every run. A write that took effect is a write, answered or not, an acquire
    that got the lock is a grant, and a renewal counts as the grant that it renews.
    """
    others = tuple(against)
    granted = {op.owner for op in others if op.f == "acquire"}
    named = (op for op in others if op.f != "renew" or op.owner not in granted)
    return (_kind(accused), *sorted({f"{_age(op, accused)}{_kind(op)}" for op in named}))


def _kind(op: Op) -> str:
    if op.f == "acquire":
        return "grant" if op.outcome is Outcome.OK else "acquire"
    if op.outcome is not Outcome.FAIL:
        return op.f
    return f"refused {op.f}" if op.error == "stale" else f"failed {op.f}"


def _age(op: Op, accused: Op) -> str:
    if op.token is None or accused.token is None:
        return ""
    if accused.f == "read" and op.token != accused.token and op.value == accused.value:
        return ""  # the write that it returned has a wrong token: whether it is higher is chance
    if op.token == accused.token:
        return "equal "
    return "newer " if op.token > accused.token else "older "
