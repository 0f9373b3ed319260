"""Writes a second before, during and after each fault on servers, and how long until a new holder writes.

What a fault does may begin before it is seen in force: a failover is, once the other server leads. So it
begins at the latest with the longest time without a write around it, if that is unusually long, and ends
with it at the earliest.

Consistency costs availability: while a lock service has no majority, or a storage has no primary, nobody
gets a lock, or nobody writes. The target's own faults on servers are the question here, and its run, with
clients that do not wait between two steps, gives the answer.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.facts.leases import granted
from checkers.history.faults import Fault, faults_of
from checkers.history.records import History, Op, Outcome
from harness.bench.document import AvailabilityDocument, to_ms
from harness.core.duration import NS
from harness.core.events import Event, StageReached
from harness.engines.engine import Engine
from harness.nemesis.faults import FaultSpec, hits_servers
from harness.run.run_to_verdict import to_verdict
from harness.run.runner import RunOptions
from harness.spec import Target

LONGEST = 3 * NS["s"]  # ns; of the time before a fault, and of the time after it
OUTAGE = 5  # times the usual time between two writes; shorter ones are chance
THINKS = NS["ms"]  # ns at most; between two steps of a client


def faults_on_servers(target: Target) -> tuple[FaultSpec, ...]:
    """Return the faults of a target that hit servers."""
    return tuple(fault for fault in target.faults if hits_servers(fault))


def measure(
    target: Target, engine: Engine, folder: Path, say: Callable[[str], None]
) -> Iterator[AvailabilityDocument]:
    """Run the target with its faults on servers, and yield what each fault did to its writes.

    Raises as a run does; an interrupted run is KeyboardInterrupt.
    """
    alone = target.model_copy(
        update={
            "faults": faults_on_servers(target),
            "require": {},
            "workload": target.workload.model_copy(update={"think": THINKS}),
        }
    )

    def notify(event: Event) -> None:
        if isinstance(event, StageReached):
            say(f"  availability, {event.stage}: {event.detail}")

    judged = to_verdict(alone, engine, RunOptions(runs=folder, notify=notify))
    if judged.history is not None:
        yield from seen_in(judged.history)


def seen_in(history: History) -> Iterator[AvailabilityDocument]:
    """Yield what each fault of a history did to its writes."""
    operations = history.operations
    writes = [op for op in operations if op.f in ("write", "append") and op.outcome is Outcome.OK]
    grants = {(op.resource, op.token): op for op in granted(operations)}
    last = max((op.over for op in operations if op.returned is not None), default=0)
    for fault in faults_of(history.faults):
        if fault.healed <= last:
            yield _seen(fault, writes, grants, last)


def _seen(
    fault: Fault, writes: Sequence[Op], grants: Mapping[tuple[str, int | None], Op], last: float
) -> AvailabilityDocument:
    healed = round(fault.healed)
    gap = _longest_gap([op.over for op in writes], fault.began - LONGEST, healed + LONGEST)
    begins, ends = float(fault.began), float(healed)
    if gap.is_outage:
        begins, ends = min(begins, gap.begins), max(ends, gap.ends)
    first_write = min((op.over for op in writes), default=begins)
    new = (
        op.over
        for op in writes
        if (grant := grants.get((op.resource, op.token))) and op.called >= grant.over >= begins
    )
    first = min(new, default=None)
    return AvailabilityDocument(
        fault=fault.kind,
        target=fault.target,
        lasted=to_ms(healed - fault.began),
        without_writes=to_ms(gap.ends - gap.begins),
        before=_rate(writes, max(first_write, begins - LONGEST), begins),
        during=_rate(writes, begins, ends),
        after=_rate(writes, ends, min(last, ends + LONGEST)),
        first_write=None if first is None else to_ms(first - begins),
    )


class _Gap(NamedTuple):
    """The longest time without a write (ns)."""

    begins: float
    ends: float
    usual: float  # the median time between two writes

    @property
    def is_outage(self) -> bool:
        return self.ends - self.begins >= OUTAGE * self.usual


def _longest_gap(moments: Sequence[float], begins: float, ends: float) -> _Gap:
    """Return the longest time between two of these moments that lie in a stretch of time (ns)."""
    within = [moment for moment in sorted(moments) if begins <= moment <= ends]
    gaps = list(itertools.pairwise(within))
    if not gaps:
        return _Gap(begins, begins, math.inf)
    usual = statistics.median(later - earlier for earlier, later in gaps)
    return _Gap(*max(gaps, key=lambda gap: gap[1] - gap[0]), usual)


def _rate(writes: Sequence[Op], begins: float, ends: float) -> float | None:
    """Return the writes a second that returned in this time; None without any time."""
    if ends <= begins:
        return None
    return round(sum(begins <= op.over < ends for op in writes) * NS["s"] / (ends - begins), 1)
