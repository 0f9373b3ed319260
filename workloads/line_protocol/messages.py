"""The messages that a program may send, as types.

If a field is missing, has the wrong type or is out of range, the answer is invalid and the
operation's outcome is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from checkers.history.lines import Mark, Nanoseconds, Token
from checkers.history.records import UNUSABLE
from checkers.text.nearest import repeated
from checkers.text.printable import quoted
from workloads.client import Unknown

PROTOCOL = 1
_MAX_SHOWN = 200  # characters of a line in a message
_BIG_NUMBERS = ("token", "attempt_ns", "called_ns")
"""Fields that may also be strings of digits: not every language has integers of 64 bits (Node)."""
_DIGITS = re.compile(r"-?[0-9]{1,19}")

_NO_OBJECT = (
    "this is no JSON object, and standard output carries only the protocol, one object a line:"
    " write logs and debug output to standard error"
)
_INTEGER = "an integer from 0 to 2^63 - 1, or its digits as a string"
_MEANINGS = {
    "id": "the number of the request that it answers, as an integer",
    "token": f"{_INTEGER}; null if there is none",
    "ttl_ms": "an integer of milliseconds above 0; null if the lock promises no length",
    "attempt_ns": f"{_INTEGER}, on CLOCK_MONOTONIC",
    "called_ns": f"{_INTEGER}, on CLOCK_MONOTONIC",
    "value": "the text that was written; null before the first write",
    "outcome": "ok, failed, stale, unknown or unsupported",
    "reason": "a text",
    "resource": "the name of the request's resource",
    "owner": "the owner of the request",
    "job": "the name of a job that was submitted",
}
"""What each field must be, for the author of a program."""

Milliseconds = Annotated[int, Meta(gt=0, le=10**12)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
T = TypeVar("T")


class ProgramLine(Struct, frozen=True, kw_only=True):
    """The fields that any line may have; the others depend on the request or event."""

    id: int | None = None
    event: str | None = None
    outcome: str | None = None
    reason: str = ""


class StartResult(Struct, frozen=True, kw_only=True):
    """The result of a successful start."""

    versions: Annotated[dict[Name, Name], Meta(max_length=20)] = msgspec.field(default_factory=dict)
    """Of the libraries and runtimes that the program uses, by name."""
    stop: bool = False
    """Does it know the request "stop"?"""
    reenter: bool = False
    """Does it know the field "reenter" of the request "acquire"?"""


class AcquireResult(Struct, frozen=True, kw_only=True):
    """The result of a successful acquire."""

    token: Token | None  # null: the lock gives none; the field itself is required
    ttl_ms: Milliseconds | None  # null: no promised length; the field itself is required
    attempt_ns: Nanoseconds | None = None  # CLOCK_MONOTONIC


class TakeResult(Struct, frozen=True, kw_only=True):
    """The result of a successful take: the handler of a job has begun."""

    job: Name
    token: Token | None  # null: the queue does not count attempts; the field itself is required


class GrantedEvent(Struct, frozen=True, kw_only=True):
    """The event inside an acquire: the lock service granted, but the acquire is not complete."""

    wait: bool = False  # the program waits for the request "go-on"


class ReadResult(Struct, frozen=True, kw_only=True):
    """The result of a successful read."""

    value: str | None
    token: Mark | None  # ignored before the first write; null: the value was written without one


class RenewedEvent(Struct, frozen=True, kw_only=True):
    """The event of a confirmed renewal that the program made on its own."""

    resource: str
    owner: str
    ttl_ms: Milliseconds
    called_ns: Nanoseconds  # CLOCK_MONOTONIC, before its request left


class CommitEvent(Struct, frozen=True, kw_only=True):
    """The event of one accepted write or fence, in the storage's commit order; a fence has no value."""

    resource: str
    token: Token | None  # null: the lock gives none
    value: str | None = None
    fence: bool = False

    def __post_init__(self) -> None:
        """Reject a write without a value, and a fence with one or without a token."""
        if self.fence == (self.value is not None):
            raise ValueError("a write has a `value`, and a fence has none")
        if self.fence and self.token is None:
            raise ValueError("a fence has a `token`")


def parse_line(line: bytes) -> tuple[ProgramLine, Mapping[str, Any]]:
    """Parse a line of the program; Unknown if it is not valid in the protocol."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unknown(f"{UNUSABLE}{truncated(line)}: {_NO_OBJECT}") from error
    try:
        json.loads(line, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise Unknown(f"{UNUSABLE}{truncated(line)}: {error}") from error
    return convert_fields(ProgramLine, fields), fields


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    """Raise ValueError for a key that is given twice: languages differ in which one counts."""
    for name in repeated(name for name, _ in pairs):
        raise ValueError(f"{quoted(name)} is given twice")


def convert_fields(kind: type[T], fields: Mapping[str, Any]) -> T:
    """Convert the fields of a line; Unknown if one is missing or wrong."""
    given = {name: _number(name, value) for name, value in fields.items()}
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        wrong = _misfit(kind, given) or error
        raise Unknown(f"{UNUSABLE}{truncated(msgspec.json.encode(fields))}: {wrong}") from error


def _misfit(kind: type, given: Mapping[str, Any]) -> str | None:
    """Say what the first wrong field must be; None if only the fields together are wrong."""
    for field in msgspec.structs.fields(kind):
        meaning = _MEANINGS.get(field.name, "see docs/adapters.md")
        if field.name not in given:
            if field.required:
                return f"`{field.name}` is missing: {meaning}"
            continue
        try:
            msgspec.convert(given[field.name], field.type)
        except msgspec.ValidationError as error:
            return f"{error}: `{field.name}` must be {meaning}"
    return None


def _number(name: str, value: Any) -> Any:
    is_number = name in _BIG_NUMBERS and isinstance(value, str) and _DIGITS.fullmatch(value)
    return int(value) if is_number else value


def truncated(line: bytes) -> str:
    """A line as text, cut to a readable length."""
    text = line.decode(errors="replace").strip()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
