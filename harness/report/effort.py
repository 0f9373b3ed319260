"""How hard a run tried, in one sentence and one vocabulary: the same in every output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.document import HazardsDocument, VerdictDocument
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import Cell, End, Hit, tried
from harness.nemesis.faults import FAULTS
from harness.report.sentences import count, times

_COUNTS_OF_FAULTS = {kind.count for kind in KINDS.values()}
_CALLED = {fault.words.count: fault.called for fault in FAULTS.values()}


def effort(document: VerdictDocument) -> str:
    """Say which faults hit, what they led to, and what became of the stale writes.

    Such as "11 pauses; 9 times, another client took over and wrote meanwhile; 9 stale writes, all refused".
    """
    counts = document.coverage
    return "; ".join(filter(None, [_faults(counts), _led_to(document), executions(counts), outcomes(counts)]))


def executions(counts: Mapping[str, int]) -> str:
    """How often jobs were executed, and under which faults; empty for a run without jobs."""
    number, past = counts.get("executions", 0), counts.get("executions_past_lease", 0)
    if not number:
        return ""
    return f"{count(number, 'execution')}, {past or 'none'} under a fault that outlived the lease"


def moments(document: VerdictDocument) -> str:
    """Such as "22 of 24 dangerous moments tried"; empty if no fault of the target can hit one."""
    seen = document.hazards
    return tried(seen.possible, seen.missed, seen.untried) if seen and seen.possible else ""


def no_fault_counted(document: VerdictDocument) -> bool:
    """Could the faults of the target have hit a dangerous moment, but none was counted?"""
    seen = document.hazards
    could_hit = seen is not None and bool(seen.possible or seen.unreached)
    return could_hit and not any(number and _is_fault(name) for name, number in document.coverage.items())


def _faults(counts: Mapping[str, int]) -> str:
    """The faults that were counted: such as "11 pauses and 2 partitions"."""
    hit = [
        count(number, _CALLED[name]) if name in _CALLED else f"{name.replace('_', ' ')} ×{number:,}"
        for name, number in counts.items()
        if number and _is_fault(name)
    ]
    if not hit:
        grants = counts.get("grants", 0)
        return "no fault counted" + (f"; the lock was granted {times(grants)}" if grants else "")
    *some, last = hit
    return f"{', '.join(some)} and {last}" if some else last


def _is_fault(name: str) -> bool:
    """Is it the count of a kind of fault? A history may have kinds of its own."""
    return name in _COUNTS_OF_FAULTS or name not in COVERAGE


def _led_to(document: VerdictDocument) -> str:
    """The worst that the faults led to."""
    counts = document.coverage
    if superseded := _superseded(document.hazards):
        return f"{times(superseded)}, another client took over and wrote meanwhile"
    if grants := counts.get("grants_to_others", 0):
        return f"{times(grants)}, another client got the lock meanwhile"
    if past := counts.get("pauses_past_lease", 0):
        return f"{count(past, 'pause')} outlived the holder's lease"
    return ""


def _superseded(seen: HazardsDocument | None) -> int:
    """How often another client's write was accepted before the fault on a holder ended."""
    hit = {} if seen is None else seen.hit
    cells = ((Cell.named(name), number) for name, number in hit.items())
    return sum(number for cell, number in cells if cell.hit is Hit.HOLDER and cell.end is End.SUPERSEDED)


class _StaleWrites(NamedTuple):
    """How many stale writes were attempted, and how many of those were rejected or accepted."""

    attempted: int
    rejected: int
    accepted: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> _StaleWrites:
        return cls(*(counts.get(f"stale_writes_{name}", 0) for name in cls._fields))

    @property
    def others(self) -> str:
        """Those that were not rejected, in words: "1 accepted, 2 unknown"."""
        unknown = self.attempted - self.rejected - self.accepted
        return f"{self.accepted:,} accepted" + (f", {unknown:,} unknown" if unknown > 0 else "")


def refused(counts: Mapping[str, int]) -> str:
    """The outcomes of the stale writes: "13 of 13 stale writes refused"; the parts add up."""
    writes = _StaleWrites.of(counts)
    said = f"{writes.rejected:,} of {count(writes.attempted, 'stale write')} refused"
    return said if writes.rejected == writes.attempted else f"{said}, {writes.others}"


def outcomes(counts: Mapping[str, int]) -> str:
    """The same where it follows something else: "13 stale writes, all refused"; empty if not counted."""
    writes = _StaleWrites.of(counts)
    if not writes.attempted:
        late = counts.get("late_writes_attempted", 0)
        said = (
            "no stale write attempted"
            if "stale_writes_attempted" in counts and not executions(counts)
            else ""
        )
        return ", ".join(filter(None, [said, count(late, "late write") if late else ""]))
    attempted = count(writes.attempted, "stale write")
    for number, outcome in ((writes.rejected, "refused"), (writes.accepted, "accepted")):
        if number == writes.attempted:
            return f"{attempted}, {'all ' * (number > 1)}{outcome}"
    return f"{attempted}: {writes.rejected:,} refused, {writes.others}"


def why_findings_differ(document: VerdictDocument) -> str:
    """Why there are more or fewer findings of stale writes than accepted ones, in a run that lost writes."""
    accepted = document.coverage.get("stale_writes_accepted", 0)
    found = document.anomalies.get("stale-write", 0)
    if accepted == found or not document.anomalies.get("lost-write"):
        return ""
    if accepted > found:
        return " (a stale write that was lost in the end is found as lost-write)"
    return " (not counting those that only a lost write made stale)"
