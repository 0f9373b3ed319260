"""Recognize and decode the lines of the nemesis."""

from __future__ import annotations

import msgspec

from checkers.history.jsonl import Line
from checkers.history.lines import FaultLine
from checkers.history.records import FaultEvent, Header

FAULT_DECODER = msgspec.json.Decoder(FaultLine)
FAULT_SIGN = b'"nemesis"'
"""A part of every line of the nemesis, and of hardly any other line."""


def is_fault(line: Line) -> bool:
    """Is it a line of the nemesis? Its process decides, since another string may look the same."""
    if FAULT_SIGN not in line.text:
        return False
    try:
        return msgspec.json.decode(line.text, type=_Process).process == "nemesis"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return False  # the decoder of a client's line reports the error


def fault_event(line: Line, event: FaultLine, header: Header) -> FaultEvent:
    """Return the event of a line of the nemesis, in a history with this header."""
    seen = event.value
    return FaultEvent(
        time=event.time,
        kind=event.f,
        target=seen.target,
        state=seen.state,
        evidence=seen.evidence,
        owner=seen.owner,
        resource=seen.resource,
        at=seen.at,
        left_behind=tuple(seen.left_behind),
        words=header.faults.get(event.f),
        line=line.number,
    )


class _Process(msgspec.Struct):
    process: int | str
