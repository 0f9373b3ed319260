"""The fault that opened the window for what went wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from checkers.columnar.columns import on_lines
from checkers.history import FaultEvent, History, Op, Outcome

NS = 1_000_000_000


def opened_by(finding: Mapping[str, Any], history: History) -> str | None:
    """Name the last fault that hit the hold with the finding's lowest token before it went wrong, in words.

    None where no fault hit it by then, or the finding rests on no token.
    """
    if not history.faults:
        return None
    proof = [op for op in on_lines(history.operations, finding["operations"]) if op.token is not None]
    lowest = min(proof, key=_token, default=None)
    over = max((math.inf if op.returned is None else op.returned for op in proof), default=0)
    owner = lowest and _owner(lowest, history)
    hits = [fault for fault in history.faults if owner and fault.owner == owner]
    begun = [fault for fault in hits if fault.state == "in force" and fault.time <= over]
    if not begun:
        return None
    healed = next((fault for fault in hits if fault.state == "healed" and fault.time > begun[-1].time), None)
    return _told(begun[-1], healed, history.started)


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
