"""The faults behind a late write in words: what delayed its holder, and what else was in force.

A fault on the holder alone may not explain why its lease ended: a client whose messages to the
storage are delayed can still renew. So the steps also name every fault on the holder or
the lock service that was in force when the lease ended. They do not say that it caused the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from checkers.explain.causes import meanwhile
from checkers.explain.fault_phrases import clients_left, is_restart, restarted, seen_over
from checkers.explain.narrator import Narrator
from checkers.explain.phrases import capitalized
from checkers.explain.story import Cause, Step, step
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
    over = f"; its lease ended at {n.at(lease)}" if is_over else ""
    what = _restart(n, fault) if is_restart(fault) else in_words(n, fault)
    yield step(f"{capitalized(what)}{over}{clients_left(fault)}.", fault)
    others = [] if op is None else meanwhile(n, cause, op)
    token = "" if grant is None else n.with_token(grant)
    when = f"When the lease{token} ended, at {n.at(lease)}"
    for other in others[:_MOST_NAMED]:
        yield step(f"{when}, another fault was in force: {in_words(n, other)}.", other)
    if len(others) > _MOST_NAMED:
        yield step(f"{when}, more faults were in force than are named here.")


def in_time_order(n: Narrator, cause: Cause | None, steps: Iterable[tuple[float, Step]]) -> list[Step]:
    """Return timed steps in order, with what the fault did that is the cause."""
    began = 0 if cause is None or cause.fault is None else cause.fault.began
    timed = [*((began, each) for each in fault_steps(n, cause)), *steps]
    return [each for _, each in sorted(timed, key=lambda timed: timed[0])]


def _restart(n: Narrator, fault: Fault) -> str:
    """Say when a service went down, and when it was seen up again."""
    began = f"{restarted(fault)} at {n.at(fault.began)} (line {fault.lines[0]})"
    if len(fault.lines) == 1:
        return began
    return f"{began}; {seen_over(fault)} at {n.at(fault.healed)} (line {fault.lines[1]})"


def in_words(n: Narrator, fault: Fault) -> str:
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
