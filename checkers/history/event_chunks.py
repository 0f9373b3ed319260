"""Reads many events at a time into columns, one row per event: by the scanner, or else by the parser.

Both return the same columns, and neither reports errors: `IrregularError` leaves that to the
careful reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Any, get_args

import msgspec
import numpy as np
from msgspec import UNSET

from checkers.history import lines
from checkers.history.columns import ABSENT, FUNCTIONS, OUTCOMES, Flags, Ints, Numbers
from checkers.history.irregular import IrregularError, require
from checkers.history.jsonl import MAX_LINE
from checkers.history.records import Outcome, Value
from checkers.history.repeated_names import may_repeat_a_name
from checkers.history.scanner import Scan

INVOKE = len(OUTCOMES)
"""The type of an event that is a request; the other types are outcomes."""

_KINDS = (lines.Acquire, lines.Renew, lines.Release, lines.Revoke, lines.Write, lines.Fence, lines.Read)
_KIND: dict[type, int] = {kind: number for number, kind in enumerate(_KINDS)}
_TYPES = (*OUTCOMES, "invoke")
_TYPE = {name: number for number, name in enumerate(_TYPES)}
_NEWLINE, _OPENS, _CLOSES = b"\n{}"
_ANSWERS_TOKEN = (_KIND[lines.Acquire], _KIND[lines.Read])  # null if there is none
_DECODER = msgspec.json.Decoder(lines.PlainLine)


class Tables:
    """The tables of the numbers in the columns; ABSENT denotes a field that a line does not have."""

    def __init__(self, initial: Value) -> None:
        self.resource = Numbers()
        self.owner = Numbers()
        self.value = Numbers(None, initial)
        self.error = Numbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Presence:
    """Which kinds of events may have a field, which must, and for which it may be null."""

    allowed: Flags
    required: Flags
    nullable: Flags

    @classmethod
    def of(cls, name: str) -> _Presence:
        """The presence of a field by the types of the lines."""
        of_kinds = [
            next((each for each in msgspec.structs.fields(kind) if each.name == name), None)
            for kind in _KINDS
        ]
        return cls(
            allowed=np.array([each is not None for each in of_kinds]),
            required=np.array([each is not None and each.required for each in of_kinds]),
            nullable=np.array([each is not None and NoneType in get_args(each.type) for each in of_kinds]),
        )


_PRESENCE = {name: _Presence.of(name) for kind in _KINDS for name in kind.__struct_fields__}


def read_chunk(chunk: bytes, tables: Tables) -> dict[str, Ints]:
    """The columns of some complete lines, each with its newline, without those of the nemesis.

    Raises:
        IrregularError: one of them is not such a line.
    """
    try:
        return scanned(chunk, tables)
    except IrregularError:
        return parsed(chunk, tables)


def scanned(chunk: bytes, tables: Tables) -> dict[str, Ints]:
    """The columns by the scanner; IrregularError if only a parser can read the lines."""
    found = Scan.of(chunk, ["f", *_PRESENCE])
    require(found.longest <= MAX_LINE)
    f = _named(found, "f", FUNCTIONS[: len(_KINDS)])
    columns = {"f": f, "type": _named(found, "type", _TYPES)}
    for name in ("time", "process", "token", "ttl", "attempt"):
        columns[name] = _present(found, name, f, found.fields[name].integers())
    for name in ("resource", "owner", "value", "error"):
        columns[name] = _present(found, name, f, found.fields[name].numbers(getattr(tables, name)))
    value = found.fields["value"]
    columns["value"][value.lines[value.is_null]] = tables.value[None]
    has_token = np.zeros(found.count, dtype=np.bool_)
    has_token[found.fields["token"].lines] = True
    _require_tokens(columns, has_token)
    return columns


def _require_tokens(columns: Mapping[str, Ints], has_token: Flags) -> None:
    """Every ok that answers with a token has the field."""
    answers = np.isin(columns["f"], _ANSWERS_TOKEN) & (columns["type"] == _TYPE[Outcome.OK])
    require(not np.any(answers & ~has_token))


def _named(found: Scan, name: str, known: Sequence[str]) -> Ints:
    """A field of every line as numbers of known names."""
    numbers = found.fields[name].numbers(Numbers(*known))
    require(len(numbers) == found.count and numbers.min() >= 0 and numbers.max() < len(known))
    return numbers


def _present(found: Scan, name: str, f: Ints, values: Ints) -> Ints:
    """The column of a field; each kind of event must have it, or lack it, by its type."""
    field, presence = found.fields[name], _PRESENCE[name]
    kinds = f[field.lines]
    require(np.all(presence.allowed[kinds]))
    require(np.all(presence.nullable[kinds[field.is_null]]))
    require(np.count_nonzero(presence.required[kinds]) == np.count_nonzero(presence.required[f]))
    if len(values) == found.count:
        return values
    column = np.full(found.count, ABSENT, dtype=np.int64)
    column[field.lines] = values
    return column


def parsed(chunk: bytes, tables: Tables) -> dict[str, Ints]:
    """The columns by the parser; IrregularError if a line is wrong."""
    _check_lines(chunk)
    events = _decoded(chunk)
    require(len(events) == chunk.count(b"\n") and not may_repeat_a_name(chunk))
    n = len(events)
    objects = np.empty(n, dtype=object)
    objects[:] = events
    f = np.fromiter(map(_KIND.__getitem__, map(type, events)), dtype=np.int64, count=n)
    types = map(_TYPE.__getitem__, map(attrgetter("type"), events))
    columns = {"f": f, "type": np.fromiter(types, dtype=np.int64, count=n)}
    for name, presence in _PRESENCE.items():
        if name not in columns:
            columns[name] = np.full(n, ABSENT, dtype=np.int64)
            having = presence.allowed[f]
            values = map(attrgetter(name), objects[having].tolist())
            columns[name][having] = _numbers(values, getattr(tables, name, None))
    has_token = (getattr(event, "token", UNSET) is not UNSET for event in events)
    _require_tokens(columns, np.fromiter(has_token, dtype=np.bool_, count=n))
    return columns


def _numbers(values: Iterable[Any], table: Mapping[Value, int] | None) -> list[int]:
    """Integers, or the numbers of strings in a table; ABSENT for a missing field."""
    if table is None:
        return [value if isinstance(value, int) else ABSENT for value in values]
    missing = UNSET if None in table else None
    return [ABSENT if value is missing else table[value] for value in values]


def _check_lines(chunk: bytes) -> None:
    """Each line must look like one object: `}` is never followed by `{` in one, so none spans two lines."""
    text = np.frombuffer(chunk, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    starts = np.zeros(len(ends), dtype=np.int64)
    starts[1:] = ends[:-1] + 1
    require(np.all(ends - starts < MAX_LINE))
    require(np.all(text[starts] == _OPENS) and np.all(text[ends - 1] == _CLOSES))


def _decoded(chunk: bytes) -> list[Any]:
    try:
        return _DECODER.decode_lines(chunk if chunk.isascii() else chunk.decode())
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError, ValueError):
        raise IrregularError from None
