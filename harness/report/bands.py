"""Faults as bands of time: from observed in force to observed healed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checkers.history import FaultEvent
from harness.report.lanes import Lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One fault, while it was observed in force. Times in ns."""

    kind: str
    target: str
    lane: int | None  # None: it hit no single client
    start: int
    end: int | None  # None: never seen healed
    evidence: str
    healed_evidence: str
    owner: str | None


def bands(faults: Iterable[FaultEvent], lanes: Lanes) -> tuple[Band, ...]:
    """Pair each fault's beginning with its end, in the order of the beginnings."""
    unhealed: dict[tuple[str, str], FaultEvent] = {}
    found: list[Band] = []
    for fault in faults:
        key = fault.kind, fault.target
        if fault.state == "in force":
            unhealed.setdefault(key, fault)
        elif key in unhealed:
            found.append(_band(unhealed.pop(key), fault, lanes))
    found.extend(_band(fault, None, lanes) for fault in unhealed.values())
    return tuple(sorted(found, key=lambda band: band.start))


def _band(begun: FaultEvent, healed: FaultEvent | None, lanes: Lanes) -> Band:
    return Band(
        kind=begun.kind,
        target=begun.target,
        lane=lanes.target(begun.target),
        start=begun.time,
        end=None if healed is None else healed.time,
        evidence=begun.evidence,
        healed_evidence="" if healed is None else healed.evidence,
        owner=begun.owner,
    )
