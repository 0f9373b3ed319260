"""Where a record is in its file: on a line, or in an array that fills one line."""

from __future__ import annotations


class EventIndex(int):
    """The index of an event, from 0, in place of its line: all events are on one line."""


def cited(number: int) -> str:
    """Name a place in a sentence."""
    return f"event {number}" if isinstance(number, EventIndex) else f"line {number}"
