"""Read the events of a history in the layout of our recorders, straight into columns.

This reader applies the types of `lines` and the rules of `assembly` to all events at once. Any
violation raises `IrregularError` without details; the careful reader then finds the first error,
line by line. It also reads what this reader does not support: other layouts, appends, and operations on jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, BinaryIO, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.columns import (
    ABSENT,
    ACQUIRE,
    FENCE,
    FUNCTIONS,
    INFO,
    NEVER,
    OK,
    OUTCOMES,
    READ,
    WRITE,
    Columns,
    Flags,
    Ints,
    Numbers,
    Operations,
)
from checkers.history.gc_pause import gc_paused
from checkers.history.growing import GrowingColumns, chunks
from checkers.history.jsonl import MAX_LINE, Line, decode, half_written, is_cut_short
from checkers.history.lines import FAULT_DECODER, FAULT_SIGN, FaultLine, PlainLine, fault_event, is_fault
from checkers.history.plain_text import IrregularError, require
from checkers.history.ranks import stable_order
from checkers.history.records import Header, History, Value
from checkers.history.scanner import Scan
from checkers.text.errors import HistoryError

INVOKE = len(OUTCOMES)  # the type of an event that is a request; the other types are outcomes
_KINDS: tuple[type[msgspec.Struct], ...] = get_args(PlainLine)  # in the order of FUNCTIONS
_TYPES = (*OUTCOMES, "invoke")


def read_events(file: BinaryIO, header: Header, name: str) -> History:
    """Read the events after the header; IrregularError if one is invalid, or only a parser can read it."""
    events = _Events(header.initial_value)
    with gc_paused():
        for chunk in chunks(file):
            events.add(chunk)
        return events.history(header, name)


class _Events:
    """The events read so far, in columns; a completed operation is two events."""

    def __init__(self, initial: Value) -> None:
        self._line = 1  # the number of the last line read: the header's
        self._tables = tables_of(initial)
        self._events = GrowingColumns()
        self._faults: list[tuple[int, FaultLine]] = []  # with their line numbers
        self._half_written: int | None = None  # the last line of the file, if it is only half written

    def history(self, header: Header, name: str) -> History:
        """Join invokes and completions into a history; `name` is the file's name in notices."""
        require(self._events.count > 0)
        events = self._events.take()
        started = self._check_times(events["line"], events["time"])
        rows = np.flatnonzero(events["type"] == INVOKE)
        ends = _completions(events["process"], events["type"])[rows]
        _check_repeats(events, rows[ends >= 0], ends[ends >= 0])
        _check_carries(events, rows[ends >= 0], ends[ends >= 0])
        initial = self._tables["value"][header.initial_value]
        written = np.bincount(events["value"][rows[events["f"][rows] == WRITE]], minlength=initial + 1)
        require(int(written.max()) <= 1 and written[initial] == 0)
        columns = self._join(events, rows, ends, initial)
        cut = self._half_written
        return History(
            header=header,
            operations=Operations(columns),
            faults=tuple(fault_event(line, fault, header) for line, fault in self._faults),
            notices=() if cut is None else (half_written(name, cut),),
            started=started,
        )

    def add(self, chunk: bytes) -> None:
        if not chunk.endswith(b"\n"):
            chunk = self._last(chunk)
        numbers = np.arange(self._line + 1, self._line + 1 + chunk.count(b"\n"))
        self._line += len(numbers)
        if FAULT_SIGN in chunk:
            chunk, numbers = self._without_faults(chunk, numbers)
        if chunk:
            self._events.add(read_chunk(chunk, self._tables) | {"line": numbers})

    def _last(self, text: bytes) -> bytes:
        """Complete a last line that only lacks its newline, or drop it if it is half written."""
        cut = text.rfind(b"\n") + 1
        whole, last = text[:cut], text[cut:]
        if not is_cut_short(last):
            return text + b"\n"
        self._half_written = self._line + whole.count(b"\n") + 1
        return whole

    def _without_faults(self, chunk: bytes, numbers: Ints) -> tuple[bytes, Ints]:
        """Return the client lines and their numbers, and collect the faults."""
        rest: list[bytes] = []
        kept = np.ones(len(numbers), dtype=np.bool_)
        row = before = start = 0
        while (sign := chunk.find(FAULT_SIGN, start)) >= 0:
            row += chunk.count(b"\n", start, sign)
            first = chunk.rfind(b"\n", 0, sign) + 1
            start = chunk.index(b"\n", sign) + 1
            require(start - first <= MAX_LINE)
            line = Line("", int(numbers[row]), chunk[first:start], unfinished=False)
            if is_fault(line.text):
                self._faults.append((line.number, _fault(line)))
                rest.append(chunk[before:first])
                kept[row] = False
                before = start
            row += 1
        return b"".join((*rest, chunk[before:])), numbers[kept]

    def _check_times(self, numbers: Ints, times: Ints) -> int:
        """Check that all events, including the nemesis's, are in the order of time; return the first time."""
        all_times = np.empty(self._line + 1, dtype=np.int64)
        present = np.zeros(self._line + 1, dtype=np.bool_)
        all_times[numbers], present[numbers] = times, True
        for line, fault in self._faults:
            all_times[line], present[line] = fault.time, True
        all_times = all_times[present]
        require(np.all(all_times[1:] >= all_times[:-1]) and all_times[-1] < NEVER)
        return int(all_times[0])

    def _join(self, events: dict[str, Ints], rows: Ints, ends: Ints, initial: int) -> Columns:
        """Return the operations; event columns are freed one by one, so that memory holds only one set."""
        completed = ends >= 0
        outcome = np.where(completed, events.pop("type")[ends], INFO)
        ok = outcome == OK
        f = events.pop("f")[rows]
        asks = (f == WRITE) | (f == FENCE)  # a read's token is its answer
        time, line = events.pop("time"), events.pop("line")
        value, token, ttl = events.pop("value"), events.pop("token"), events.pop("ttl")
        answers_ttl = ok | (completed & (ttl[ends] != ABSENT))
        return Columns(
            f=f.astype(np.int8),
            outcome=outcome.astype(np.int8),
            process=events.pop("process")[rows],
            resource=events.pop("resource")[rows],
            owner=events.pop("owner")[rows],
            value=np.where(ok & (f == READ), value[ends], np.where(f == WRITE, value[rows], 0)),
            token=np.where(ok, token[ends], np.where(asks, token[rows], ABSENT)),
            called=time[rows],
            returned=np.where(completed & (outcome != INFO), time[ends], NEVER),
            learned=np.where(completed, time[ends], ABSENT),
            ttl=np.where(answers_ttl, ttl[ends], ttl[rows]),
            attempt=np.where(ok, events.pop("attempt")[ends], ABSENT),
            error=np.where(completed, events.pop("error")[ends], ABSENT),
            invoked_line=line[rows],
            completed_line=np.where(completed, line[ends], ABSENT),
            resources=list(self._tables["resource"]),
            owners=list(self._tables["owner"]),
            values=list(self._tables["value"]),
            errors=list(self._tables["error"]),
            initial=initial,
        )


def _fault(line: Line) -> FaultLine:
    try:
        event = decode(line, FAULT_DECODER)
    except HistoryError:
        raise IrregularError from None
    if event is None:
        raise IrregularError
    return event


def _completions(process: Ints, types: NDArray[Any]) -> Ints:
    """Return the event that completes each invoke, or -1; check that a process does one thing at a time."""
    order = stable_order(process)
    process, types = process[order], types[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = process[1:] != process[:-1]
    places = np.arange(len(order))
    first = np.maximum.accumulate(np.where(is_first, places, 0))
    is_invoke = (places - first) % 2 == 0
    require(np.array_equal(is_invoke, types == INVOKE))
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = is_first[1:]
    require(np.all(is_last[types == INFO]))
    of_event = np.full(len(order), -1, dtype=np.int64)
    answered = np.flatnonzero(is_invoke & ~is_last)
    of_event[order[answered]] = order[answered + 1]
    return of_event


def _check_repeats(events: dict[str, Ints], rows: Ints, ends: Ints) -> None:
    """Raise IrregularError unless these completions repeat the fields of those invokes."""
    f = events["f"][rows]
    asks = (f == WRITE) | (f == FENCE)
    for name in ("f", "resource", "owner"):
        require(np.array_equal(events[name][rows], events[name][ends]))
    for name in ("token", "value"):
        require(np.array_equal(events[name][rows[asks]], events[name][ends[asks]]))


def _check_carries(events: dict[str, Ints], rows: Ints, ends: Ints) -> None:
    """Raise IrregularError unless each ok carries the answer of its kind of operation."""
    ok = events["type"][ends] == OK
    rows, ends = rows[ok], ends[ok]
    f, attempt = events["f"][ends], events["attempt"][ends]
    require(not np.any(events["value"][ends[f == READ]] == ABSENT))
    outside = (attempt < events["time"][rows]) | (attempt > events["time"][ends])
    require(not np.any(outside & (attempt != ABSENT)))


def tables_of(initial: Value) -> dict[str, Numbers]:
    """Return tables for the names and values that numbers in columns denote; ABSENT is a missing field."""
    return {"resource": Numbers(), "owner": Numbers(), "value": Numbers(None, initial), "error": Numbers()}


_FIELDS = [{each.name: each for each in msgspec.structs.fields(kind)} for kind in _KINDS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Presence:
    """The kinds of events that may have a field, that must have it, and in which it may be null."""

    allowed: Flags
    required: Flags
    nullable: Flags

    @classmethod
    def of(cls, name: str) -> _Presence:
        """Return the presence of a field, from the types of the lines."""
        of_kinds = [fields.get(name) for fields in _FIELDS]
        return cls(
            allowed=np.array([each is not None for each in of_kinds]),
            required=np.array([each is not None and each.required for each in of_kinds]),
            nullable=np.array([each is not None and NoneType in get_args(each.type) for each in of_kinds]),
        )


_PRESENCE = {name: _Presence.of(name) for kind in _KINDS for name in kind.__struct_fields__}


def read_chunk(chunk: bytes, tables: Mapping[str, Numbers]) -> dict[str, Ints]:
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
    for name, table in tables.items():
        columns[name] = _present(found, name, f, found.fields[name].numbers(table))
    value = found.fields["value"]
    columns["value"][value.lines[value.is_null]] = tables["value"][None]
    has_token = np.zeros(found.count, dtype=np.bool_)
    has_token[found.fields["token"].lines] = True
    answers_token = ((f == ACQUIRE) | (f == READ)) & (columns["type"] == OK)  # null if there is none
    require(not np.any(answers_token & ~has_token))
    return columns


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
