"""What a program may say, as types: whatever does not fit them is no answer at all.

A field that is missing, of another type or out of range makes the answer worthless, and the
operation is then one that nobody knows the end of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from checkers.reading.lines import Mark, Nanoseconds, Token
from workloads.client import Unknown

PROTOCOL = 1
_SHOWN = 200  # characters of a line that is told

Milliseconds = Annotated[int, Meta(gt=0, le=10**12)]
Said = TypeVar("Said")


class Line(Struct, frozen=True, kw_only=True):
    """What every line may have; the rest depends on what it answers or tells."""

    id: int | None = None
    event: str | None = None
    outcome: str | None = None
    reason: str = ""


class Granted(Struct, frozen=True, kw_only=True):
    """The ok of an acquire."""

    token: Token
    ttl_ms: Milliseconds | None  # None: the program promises no length; but it has to say so
    attempt_ns: Nanoseconds | None = None  # CLOCK_MONOTONIC


class Held(Struct, frozen=True, kw_only=True):
    """The event inside an acquire: the lock service has granted, and the answer is not complete."""

    wait: bool = False  # the program does nothing until it is told to go on


class Read(Struct, frozen=True, kw_only=True):
    """The ok of a read."""

    value: str | None
    token: Mark  # of no matter where nothing was written


class Renewed(Struct, frozen=True, kw_only=True):
    """The event of a renewal that the program made by itself, once it was confirmed."""

    resource: str
    owner: str
    ttl_ms: Milliseconds
    called_ns: Nanoseconds  # CLOCK_MONOTONIC, before its request left


class Committed(Struct, frozen=True, kw_only=True):
    """The event of one accepted write or fence, in the storage's order; a fence has no value."""

    resource: str
    token: Token
    value: str | None = None
    fence: bool = False

    def __post_init__(self) -> None:
        """Refuse a write without a value, and a fence with one."""
        if self.fence == (self.value is not None):
            raise ValueError("a write has a `value`, and a fence has none")


def understood(line: bytes) -> tuple[Line, Mapping[str, Any]]:
    """Read a line of the program; Unknown if it is none of the protocol's."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
        return msgspec.convert(fields, Line), fields
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Unknown(f"the program said {shown(line)}: {error}") from error


def taken_as(kind: type[Said], fields: Mapping[str, Any]) -> Said:
    """Read what a line carries; Unknown if something is missing or wrong."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise Unknown(f"the program said {shown(msgspec.json.encode(fields))}: {error}") from error


def shown(line: bytes) -> str:
    """A line as a reader can bear it."""
    text = line.decode(errors="replace").strip()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
