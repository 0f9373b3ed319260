"""Rejections that an unanswered write explains which a restart of the storage undid, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from checkers.explain.conflict import Conflict
from checkers.facts.clusters import token_of
from checkers.history.faults import Fault
from checkers.history.records import Op, Outcome
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import NO_CAUSE
from tests.support.operations.marks import is_stale
from tests.support.operations.registers import Register


def unless_undone(
    register: Register, restarts: Sequence[Fault], conflicts: Iterable[Conflict]
) -> Iterator[Conflict]:
    """The conflicts but for those that rest on a rejection which a restart explains."""
    for each in conflicts:
        rejected = {NO_CAUSE: (each.accused,), FALSE_OR_STALE: each.because[:1]}.get(each.breach, ())
        if not any(_is_explained(register, op, restarts) for op in rejected):
            yield each


def _is_explained(register: Register, rejected: Op, restarts: Iterable[Fault]) -> bool:
    """Was there a write or fence without an answer that can have caused it, and have gone?"""
    unanswered = (op for op in (*register.optional, *register.fences) if op.outcome is Outcome.INFO)
    return any(
        is_stale(token_of(rejected), token_of(lost), strict=register.strict)
        and not rejected.precedes(lost)
        and max(lost.called, rejected.called) <= restart.healed
        and not any(
            rejected.precedes(op) and op.returned is not None and op.returned < restart.began
            for op in _below(register, token_of(lost))
        )
        for lost, restart in product(unanswered, restarts)
    )


def _below(register: Register, mark: int) -> Iterator[Op]:
    """What was accepted or read that this mark rules out."""
    for zone in register.zones:
        is_refused = is_stale(zone.token, mark, strict=register.strict)
        if zone.write is not None and zone.write.outcome is Outcome.OK and is_refused:
            yield zone.write
        if zone.token < mark:
            yield from zone.reads
