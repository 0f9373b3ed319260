"""The faults of the plan as rows of a table: each with the reason why it does not count, if there is one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.facts.evidence import gather
from checkers.facts.hits import FaultHits, hits_of
from checkers.history.records import History
from harness.report.recorded_plan import RecordedFault

_NOT_OBSERVED = "no: it was not observed from beginning to end"
_HIT_NOTHING = "no: it hit neither a client that held a lock nor one that waited for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRow:
    """One fault of the plan."""

    fault: RecordedFault
    counted: str  # "yes", or "no" and why; empty if the history is not known


def fault_rows(faults: Sequence[RecordedFault], history: History | None) -> Iterator[FaultRow]:
    """Yield the faults of a plan in their order, counted as the checkers count them."""
    hits = () if history is None else hits_of(gather(history))
    counted: dict[tuple[str, str, int | None], str] = {
        (each.fault.kind, each.fault.target, each.fault.began): _counted(each) for each in hits
    }
    otherwise = "" if history is None else _NOT_OBSERVED
    for fault in faults:
        observed = (fault.kind, fault.target, fault.in_force)
        yield FaultRow(fault=fault, counted=counted.get(observed, otherwise))


def _counted(hits: FaultHits) -> str:
    if hits.counts:
        return "yes"
    return _NOT_OBSERVED if math.isinf(hits.fault.healed) else _HIT_NOTHING
