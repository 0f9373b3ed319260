"""The words that stories share: who took the lock, what delayed its holder, and what else was in force.

A fault on the holder alone may not explain why its lease ended: a client whose messages to the
storage are delayed can still renew. So the steps also name every fault on the holder or
the lock service that was in force when the lease ended. They do not say that it caused the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from checkers.explain.causes import meanwhile
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, capitalized, clients_left, lock_on, restarted, restarts, step
from checkers.history.faults import Fault
from checkers.history.records import Op
from checkers.vocabulary.fault_kinds import part_of_run

_MOST_NAMED = 20


def fault_steps(n: Narrator, cause: Cause | None, op: Op | None = None) -> Iterator[Step]:
    """Say what a fault did; for the holder behind a write, when its lease ended, and under which faults."""
    fault = None if cause is None else cause.fault
    if fault is None:
        return
    grant = None if op is None else n.grant_behind(op)
    lease = math.inf if grant is None else n.lease(grant)
    is_over = fault.client is not None and fault.began <= lease <= fault.healed
    ended = "the lock was given up" if grant is not None and n.gave_up(grant) else "its lease ended"
    over = f"; {ended} at {n.at(lease)}" if is_over else ""
    what = _restart(n, fault) if restarts(fault) else _in_words(n, fault)
    yield step(f"{capitalized(what)}{over}{clients_left(fault)}.", fault)
    others = [] if op is None else meanwhile(n, cause, op)
    token = "" if grant is None else n.with_token(grant)
    when = f"When the lease{token} ended, at {n.at(lease)}"
    for other in others[:_MOST_NAMED]:
        yield step(f"{when}, another fault was in force: {_in_words(n, other)}.", other)
    if len(others) > _MOST_NAMED:
        yield step(f"{when}, more faults were in force than are named here.")


def steps_in_time_order(n: Narrator, cause: Cause | None, steps: Iterable[tuple[float, Step]]) -> list[Step]:
    """Return timed steps in order, with what the fault did that is the cause."""
    began = 0 if cause is None or cause.fault is None else cause.fault.began
    timed = [*((began, each) for each in fault_steps(n, cause)), *steps]
    return [each for _, each in sorted(timed, key=lambda timed: timed[0])]


def _restart(n: Narrator, fault: Fault) -> str:
    """Say when a service went down, and when it was seen up again."""
    began = f"{restarted(fault)} at {n.at(fault.began)} (line {fault.lines[0]})"
    if len(fault.lines) == 1:
        return began
    seen = "the failover was seen to be over" if fault.kind == "failover" else "it was seen up again"
    return f"{began}; {seen} at {n.at(fault.healed)} (line {fault.lines[1]})"


def _in_words(n: Narrator, fault: Fault) -> str:
    """Say what a fault hit, and from when to when; within a sentence."""
    what = f"{hit_by(n, fault)} {fault.words.lasting}"
    lines = " and ".join(str(line) for line in fault.lines)
    if len(fault.lines) == 1:
        return f"{what} from {n.at(fault.began)} to the end of the record (line {lines})"
    return f"{what} {n.span(fault.began, fault.healed)} (lines {lines})"


def hit_by(n: Narrator, fault: Fault) -> str:
    """Name the target of a fault; a client by the name that its operations have here."""
    if fault.client is None:
        return part_of_run(fault.target)
    return f"{'process' if n.history.header.clients is None else 'client'} {fault.client}"


def took(n: Narrator, grant: Op) -> str:
    """Say who was granted a lock; a sentence."""
    return f"{n.who(grant)} took {lock_on(grant.resource)}{n.with_token(grant)}."


def were_granted(n: Narrator, one: Op, other: Op) -> str:
    """Say who was granted a lock in two grants, as the beginning of a sentence."""
    if n.whom(one) == n.whom(other):
        return f"{n.whom(one)} was granted {lock_on(one.resource)} twice"
    return f"{n.whom(one)} and {n.whom(other)} were both granted {lock_on(one.resource)}"


def was_held_up(n: Narrator, cause: Cause | None, grant: Op, whom: str = "It") -> str:
    """Say what delayed the holder of a lock, and when its lease ended; empty if nothing is known."""
    fault = None if cause is None else cause.fault
    lease = n.lease(grant)
    was_given_up = n.gave_up(grant)
    if fault is None:
        ended = "The lock was given up" if was_given_up else "Its lease ended"
        return "" if math.isinf(lease) else f"{ended} at {n.at(lease)}"
    if fault.client is None:
        whom = capitalized(hit_by(n, fault))
    said = f"{whom} {during(n, fault)}"
    if was_given_up:
        return f"{said}, and the lock was given up at {n.at(lease)}"
    if math.isfinite(lease) and fault.began <= lease <= fault.healed:
        return f"{said}, past the end of its lease at {n.at(lease)}"
    return said if math.isinf(lease) else f"{said}; its lease ended at {n.at(lease)}"


def came_late(n: Narrator, cause: Cause | None, write: Op, then: str) -> tuple[str, ...]:
    """Say what delayed the holder behind a write, and what happened then; nothing if no fault delayed it."""
    grant, fault = n.grant_behind(write), None if cause is None else cause.fault
    if grant is None or fault is None or fault.client is None:
        return ()
    return took(n, grant), f"{was_held_up(n, cause, grant)}.", then


def during(n: Narrator, fault: Fault) -> str:
    """Say what a fault did, and from when to when."""
    if math.isinf(fault.healed):
        return f"{fault.words.lasting} from {n.at(fault.began)} on"
    return f"{fault.words.lasting} from {n.at(fault.began)} to {n.at(fault.healed)}"


def happened(n: Narrator, fault: Fault | None) -> str:
    """Say what a fault did; a sentence, or nothing."""
    if fault is None:
        return ""
    if restarts(fault):
        return capitalized(f"{restarted(fault)} at {n.at(fault.began)}.")
    return capitalized(f"{hit_by(n, fault)} {during(n, fault)}.")


def in_time_order(n: Narrator, cause: Cause | None, *timed: tuple[float, str]) -> tuple[str, ...]:
    """Return a short story of timed sentences in order, with what the fault did that is the cause."""
    fault = None if cause is None else cause.fault
    known = [*([] if fault is None else [(fault.began, happened(n, fault))]), *timed]
    return tuple(sentence for _, sentence in sorted(known, key=lambda each: each[0]))
