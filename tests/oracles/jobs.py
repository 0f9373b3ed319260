"""The definitions of double-run and lost-run, over all pairs of operations: slow and plain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, permutations

from checkers.history.faults import Fault, client_of
from checkers.history.records import Header, Op, Outcome


def double_runs(operations: Sequence[Op]) -> dict[int, int]:
    """Return the executions of one queue that should not have begun, each with the one that shows it best."""
    executions = [op for op in operations if op.f == "execute"]
    found: dict[int, tuple[bool, tuple[float, float, int]]] = {}
    for first, again in permutations(executions, 2):
        if first.job != again.job or _place(first, operations) > _place(again, operations):
            continue
        overlap = again.called < _end(first, operations)
        if overlap or (first.outcome is Outcome.OK and again.called > first.over):
            shown = (overlap, _place(first, operations))
            found[again.index] = max(found.get(again.index, shown), shown)
    return {again: place[-1] for again, (_, place) in found.items()}


def _place(op: Op, operations: Sequence[Op]) -> tuple[float, float, int]:
    return op.called, _end(op, operations), op.index


def _end(op: Op, operations: Sequence[Op]) -> float:
    """Return until when an execution was certainly in progress."""
    if op.outcome is not Outcome.INFO and op.ended is not None:
        return op.ended
    own = (each for each in operations if each.f == "heartbeat" and each.owner == op.owner)
    return max([op.called, *(each.called for each in own if each.outcome is Outcome.OK)])


def lost_runs(operations: Sequence[Op], header: Header, faults: Sequence[Fault] = ()) -> set[int]:
    """Return the submits of the jobs of one queue that were lost."""
    takes = [op for op in operations if op.f == "take"]
    return {
        op.index
        for op in operations
        if op.f == "submit" and op.outcome is Outcome.OK
        if not any(each.job == op.job for each in operations if each.f in ("take", "execute"))
        if not any(
            take.outcome is Outcome.INFO and _in_force(take, header, faults) >= max(op.due or 0, op.called)
            for take in takes
        )
        if any(_was_idle(take, _available(op), takes, header, faults) for take in takes)
    }


def _available(submit: Op) -> float:
    return max(submit.due or 0, submit.over)


def _in_force(take: Op, header: Header, faults: Sequence[Fault]) -> float:
    """Return until when a take whose end is unknown may have taken effect: a grace after what held it up."""
    deaths = [
        fault.gone
        for fault in faults
        if header.clients is not None and fault.client == client_of(take.process, header)
        if take.called <= fault.gone < math.inf
    ]
    left = min(deaths, default=math.inf) if take.learned is None else take.learned
    healed = [
        fault.healed
        for fault in faults
        if not fault.is_death and not (fault.client is None and fault.target.startswith("storage"))
        if fault.began <= left + header.grace
    ]
    held_up = max(healed, default=-math.inf)
    return (max(left, held_up) if held_up >= take.called else left) + header.grace


def _was_idle(
    take: Op, available: float, takes: Sequence[Op], header: Header, faults: Sequence[Fault]
) -> bool:
    """Did the worker wait in this take for longer than a lease and the grace, with no fault in the way?"""
    start, end = max(take.called, available), take.over
    if take.returned is None or end <= start:
        return False
    disturbed = [
        (max(fault.began, since), min(fault.healed, until))
        for fault in faults
        for since, until in _disturbing(fault, take, takes, header)
        if fault.began <= until and since <= fault.healed
    ]
    moments = sorted({start, end, *(moment for each in disturbed for moment in each if start < moment < end)})
    undisturbed = [
        (one, other)
        for one, other in pairwise(moments)
        if not any(began <= one and other <= healed for began, healed in disturbed)
    ]
    return any(other - one > (header.ttl or 0) + header.grace for one, other in undisturbed)


def _disturbing(fault: Fault, take: Op, takes: Sequence[Op], header: Header) -> list[tuple[float, float]]:
    """Return when a fault keeps a worker from being called idle, as far as it is in force."""
    if fault.client is None or header.clients is None:
        return [(-math.inf, math.inf)]
    if fault.client == client_of(take.process, header):
        return [(-math.inf, math.inf)]
    return [
        (each.called, math.inf if each.learned is None else each.learned)
        for each in takes
        if client_of(each.process, header) == fault.client
    ]
