"""The faults behind a late write in words: what held up its holder, and what else was in force.

A fault on the holder alone may not explain why its lease ended: a client whose messages to the
storage are held back can still renew. So an explanation also names every fault on the holder, or
on the lock service, that was in force when the lease ended. It says that it was, not that the
lease ended because of it. Where no lease was promised, it names those that were in force between
the beginning of the first fault and the next grant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from checkers.explain.fault_phrases import part_of_run
from checkers.explain.narrator import Narrator
from checkers.history.faults import Fault
from checkers.history.records import Op

_MOST_NAMED = 20


def held_up_by(n: Narrator, op: Op) -> Fault | None:
    """The fault that held up the holder behind a write, between its grant and the write's end."""
    grant = _grant_of(n, op)
    start = op.called if grant is None else (grant.returned or grant.called)
    end = op.called if op.learned is None else op.learned
    return n.faults.first_on_holder(op, grant, start, end)


def fault_steps(n: Narrator, fault: Fault | None, op: Op | None = None) -> Iterator[str]:
    """What a fault did; and of the holder behind a write, when its lease ended, and under which faults."""
    if fault is None:
        return
    grant = None if op is None else _grant_of(n, op)
    lease = math.inf if grant is None else n.lease(grant)
    over = f"; its lease ended at {n.at(lease)}" if fault.began <= lease <= fault.healed else ""
    over = over if fault.client is not None and lease < math.inf else ""
    what = _in_words(n, fault)
    yield f"{what[:1].upper()}{what[1:]}{over}."
    others = faults_meanwhile(n, fault, op)
    for other in others[:_MOST_NAMED]:
        yield f"{_when(n, grant, lease)}, another fault was in force: {_in_words(n, other)}."
    if len(others) > _MOST_NAMED:
        yield f"{_when(n, grant, lease)}, more faults were in force than are named here."


def faults_meanwhile(n: Narrator, fault: Fault | None, op: Op | None) -> tuple[Fault, ...]:
    """Other faults on the holder behind a write, or the lock service, in force when its lease ended.

    Of very many, one more than are named.
    """
    grant = None if op is None else _grant_of(n, op)
    if fault is None or fault.client is None or op is None or grant is None:
        return ()
    lease = n.lease(grant)
    start, end = (
        (lease, lease) if math.isfinite(lease) else (fault.began, min(fault.healed, n.next_grant(grant)))
    )
    others = (other for other in n.faults.on_holder_or_lock(op, grant, start, end) if other != fault)
    return tuple(islice(others, _MOST_NAMED + 1))


def _when(n: Narrator, grant: Op | None, lease: float) -> str:
    """When the other faults were in force."""
    if grant is None or not math.isfinite(lease):
        return "Meanwhile"
    return f"When the lease{n.with_token(grant)} ended, at {n.at(lease)}"


def _grant_of(n: Narrator, op: Op) -> Op | None:
    return next(iter(n.granted(op)), None)


def _in_words(n: Narrator, fault: Fault) -> str:
    """Whom a fault hit, and from when to when; within a sentence."""
    what = f"{_hit_by(n, fault)} {fault.words.lasting}"
    lines = " and ".join(str(line) for line in fault.lines)
    if len(fault.lines) == 1:
        return f"{what} from {n.at(fault.began)} to the end of the record (line {lines})"
    return f"{what} {n.span(fault.began, fault.healed)} (lines {lines})"


def _hit_by(n: Narrator, fault: Fault) -> str:
    """Whom a fault hit; a client by the name that its operations have here."""
    if fault.client is None:
        return part_of_run(fault.target)
    return f"{'process' if n.history.header.clients is None else 'client'} {fault.client}"
