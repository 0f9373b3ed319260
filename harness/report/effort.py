"""How hard a run tried, in one sentence and one vocabulary: the same in every output."""

from __future__ import annotations

from collections.abc import Mapping

from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.document import HazardsDocument, VerdictDocument
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import Cell, End, Hit, tried
from harness.nemesis.faults import FAULTS
from harness.report.sentences import count, times
from harness.report.stale_write_counts import outcomes

_COUNTS_OF_FAULTS = {kind.count for kind in KINDS.values()}
_CALLED = {fault.words.count: fault.called for fault in FAULTS.values()}


def effort(document: VerdictDocument) -> str:
    """Say which faults hit, what they led to, and what became of the stale writes.

    Such as "11 pauses; 9 times, another client took over and wrote meanwhile; 9 stale writes, all refused".
    """
    counts = document.coverage
    return "; ".join(filter(None, [_faults(counts), _led_to(document), outcomes(counts)]))


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
    hit = [_how_many(name, number) for name, number in counts.items() if number and _is_fault(name)]
    if not hit:
        grants = counts.get("grants", 0)
        return "no fault counted" + (f"; the lock was granted {times(grants)}" if grants else "")
    *some, last = hit
    return f"{', '.join(some)} and {last}" if some else last


def _is_fault(name: str) -> bool:
    """Is it the count of a kind of fault? A history may have kinds of its own."""
    return name in _COUNTS_OF_FAULTS or name not in COVERAGE


def _how_many(name: str, number: int) -> str:
    return count(number, _CALLED[name]) if name in _CALLED else f"{name.replace('_', ' ')} ×{number:,}"


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
