"""Faults as bands of time: from observed in force to observed healed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from checkers.history.faults import Fault, faults_of
from checkers.history.records import FaultEvent
from checkers.vocabulary.fault_kinds import FaultKind
from harness.report.lanes import Lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One fault, while it was observed in force. Times in ns."""

    kind: str
    target: str
    lane: int | None  # None: it did not hit a single client
    start: int
    end: int | None  # None: not observed healed
    evidence: str
    healed_evidence: str
    owner: str | None
    words: FaultKind
    lines: tuple[int, ...] = ()  # of the history: observed in force, observed healed


def bands(faults: Iterable[FaultEvent], lanes: Lanes) -> tuple[Band, ...]:
    """Each fault with its end, as the checkers pair them, in the order in which they began."""
    events = tuple(faults)
    evidence = {(event.kind, event.target, event.time): event.evidence for event in events}
    return tuple(_band(fault, evidence, lanes) for fault in faults_of(events))


def _band(fault: Fault, evidence: dict[tuple[str, str, int], str], lanes: Lanes) -> Band:
    end = int(fault.healed) if math.isfinite(fault.healed) else None
    return Band(
        kind=fault.kind,
        target=fault.target,
        lane=lanes.target(fault.target),
        start=fault.began,
        end=end,
        evidence=evidence.get((fault.kind, fault.target, fault.began), ""),
        healed_evidence="" if end is None else evidence.get((fault.kind, fault.target, end), ""),
        owner=fault.owner,
        words=fault.words,
        lines=fault.lines,
    )
