"""Read many events at a time into columns, one row per event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import get_args

import msgspec
import numpy as np

from checkers.history import lines
from checkers.history.columns import ABSENT, FUNCTIONS, OUTCOMES, Flags, Ints, Numbers
from checkers.history.irregular import require
from checkers.history.jsonl import MAX_LINE
from checkers.history.records import Outcome, Value
from checkers.history.scanner import Scan

INVOKE = len(OUTCOMES)
"""The type of an event that is a request; the other types are outcomes."""

_KINDS = (lines.Acquire, lines.Renew, lines.Release, lines.Revoke, lines.Write, lines.Fence, lines.Read)
_KIND: dict[type, int] = {kind: number for number, kind in enumerate(_KINDS)}
_TYPES = (*OUTCOMES, "invoke")
_TYPE = {name: number for number, name in enumerate(_TYPES)}
_ANSWERS_TOKEN = (_KIND[lines.Acquire], _KIND[lines.Read])  # null if there is none


class Tables:
    """The names and values that numbers in the columns denote; ABSENT denotes a missing field."""

    def __init__(self, initial: Value) -> None:
        self.resource = Numbers()
        self.owner = Numbers()
        self.value = Numbers(None, initial)
        self.error = Numbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Presence:
    """The kinds of events that may have a field, that must have it, and in which it may be null."""

    allowed: Flags
    required: Flags
    nullable: Flags

    @classmethod
    def of(cls, name: str) -> _Presence:
        """Return the presence of a field, from the types of the lines."""
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
    """Return the columns of complete lines of clients, each with its newline.

    Raises:
        IrregularError: a line is invalid, or is not in the layout of our recorders.
    """
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
    """Raise IrregularError if an ok that answers with a token lacks the field."""
    answers = np.isin(columns["f"], _ANSWERS_TOKEN) & (columns["type"] == _TYPE[Outcome.OK])
    require(not np.any(answers & ~has_token))


def _named(found: Scan, name: str, known: Sequence[str]) -> Ints:
    """Return a field that every line has, as numbers of known names."""
    numbers = found.fields[name].numbers(Numbers(*known))
    require(len(numbers) == found.count and numbers.min() >= 0 and numbers.max() < len(known))
    return numbers


def _present(found: Scan, name: str, f: Ints, values: Ints) -> Ints:
    """Return the column of a field; check that events have it or lack it as their kinds require."""
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
