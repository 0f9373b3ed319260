"""The lines of the nemesis: which they are, and what they say."""

from __future__ import annotations

import msgspec

from checkers.history.jsonl import Line
from checkers.history.lines import FaultLine
from checkers.history.records import FaultEvent

FAULT_DECODER = msgspec.json.Decoder(FaultLine)
FAULT_SIGN = b'"nemesis"'
"""What every line of the nemesis has in it, and hardly any other."""


def is_fault(line: Line) -> bool:
    """Does the line come from the nemesis? A string may only look so: then its process decides."""
    if FAULT_SIGN not in line.text:
        return False
    try:
        return msgspec.json.decode(line.text, type=_Process).process == "nemesis"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return False  # the decoder of a client's line says what is wrong with it


def fault_event(line: Line, event: FaultLine) -> FaultEvent:
    """What the nemesis saw."""
    seen = event.value
    return FaultEvent(
        time=event.time,
        kind=event.f,
        target=seen.target,
        state=seen.state,
        evidence=seen.evidence,
        owner=seen.owner,
        resource=seen.resource,
        line=line.number,
    )


class _Process(msgspec.Struct):
    process: int | str
