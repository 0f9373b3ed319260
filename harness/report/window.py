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
    """Name the last fault before it went wrong that can be its cause, in words.

    Of several that came while the last of the operations was under way, the first was enough.
    A fault on the servers that are accused; where there is none, one that hit the hold with the
    finding's lowest token. None where there is none of those either.
    """
    if not history.faults:
        return None
    proof = on_lines(history.operations, finding["operations"])
    sent = max((op.called for op in proof), default=0)
    over = max((math.inf if op.returned is None else op.returned for op in proof), default=0)
    for hits in (_on_servers(finding, history), _on_hold(proof, history)):
        begun = [fault for fault in hits if fault.state == "in force" and fault.time <= over]
        if begun:
            fault = next((fault for fault in begun if fault.time > sent), begun[-1])
            return _told(fault, _end_of(fault, hits), history.started)
    return None


def _on_servers(finding: Mapping[str, Any], history: History) -> list[FaultEvent]:
    """The faults on the side of the target that the anomaly is of: the lock service, or the storage."""
    side = ANOMALIES[finding["anomaly"]].area
    return [fault for fault in history.faults if fault.target.partition(":")[0] == side]


def _on_hold(proof: Sequence[Op], history: History) -> list[FaultEvent]:
    """The faults that hit the hold with the lowest token."""
    lowest = min((op for op in proof if op.token is not None), key=_token, default=None)
    owner = lowest and _owner(lowest, history)
    return [fault for fault in history.faults if owner and fault.owner == owner]


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
