"""The fault that opened the window for what went wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from checkers.anomalies import ANOMALIES
from checkers.columnar.columns import on_lines
from checkers.history import FaultEvent, History, Op, Outcome

NS = 1_000_000_000


def opened_by(finding: Mapping[str, Any], history: History) -> str | None:
    """Tell in words which fault opened a finding's window; None where there is none."""
    if not history.faults:
        return None
    proof = on_lines(history.operations, finding["operations"])
    lowest = min((op for op in proof if op.token is not None), key=_token, default=None)
    owner = None if lowest is None else _owner(lowest, history)
    begun = opening(finding["anomaly"], proof, owner, history.faults)
    return None if begun is None else _told(begun, _end_of(begun, history.faults), history.started)


def opening(
    anomaly: str, proof: Sequence[Op], owner: str | None, faults: Sequence[FaultEvent]
) -> FaultEvent | None:
    """Find the last fault before it went wrong that can be its cause.

    Of several that came while the last of the operations was under way, the first was enough.
    A fault on the servers that are accused; where there is none, one that hit the `owner`, whose
    hold has the proof's lowest token, unless the lock service is accused: that a holder was stopped
    never makes it wrong. None where there is none of those either. What is lost was there first:
    its cause came later.
    """
    sent = max((op.called for op in proof), default=0)
    over = max((math.inf if op.returned is None else op.returned for op in proof), default=0)
    begun = [fault for fault in faults if fault.state == "in force"]
    in_time = [fault for fault in begun if fault.time <= over]
    side = ANOMALIES[anomaly].area if anomaly in ANOMALIES else None
    for suspects in (
        _on_servers(begun if anomaly == "lost-write" else in_time, side),
        [fault for fault in in_time if side != "lock" and owner and fault.owner == owner],
    ):
        if suspects:
            return next((fault for fault in suspects if fault.time > sent), suspects[-1])
    return None


def _on_servers(faults: Sequence[FaultEvent], side: str | None) -> list[FaultEvent]:
    return [fault for fault in faults if fault.target.partition(":")[0] == side]


def _end_of(begun: FaultEvent, faults: Sequence[FaultEvent]) -> FaultEvent | None:
    same = (fault for fault in faults if (fault.kind, fault.target) == (begun.kind, begun.target))
    return next((fault for fault in same if fault.state == "healed" and fault.time > begun.time), None)


def _token(op: Op) -> int:
    return op.token or 0


def _owner(write: Op, history: History) -> str | None:
    """Find whose grant carried the write's token."""
    grants = (
        op.owner
        for op in history.operations
        if (op.f, op.resource, op.token, op.outcome) == ("acquire", write.resource, write.token, Outcome.OK)
    )
    return next(grants, None)


def _told(begun: FaultEvent, healed: FaultEvent | None, started: int) -> str:
    end = f"healed at {(healed.time - started) / NS:.3f} s" if healed else "never seen healed"
    return (
        f"{begun.kind} of {begun.target}, in force at {(begun.time - started) / NS:.3f} s"
        f" ({begun.evidence}), {end}"
    )
