"""Reads the events of a long history in bulk, straight into columns.

The types of the lines are those of `lines`, and what they must be to each
other is what `history` says, but asked of all of them at once. Whatever is not
as it should be ends in `NotSoundError`, without a word about what it is: then
the careful reader, line by line, finds the first thing that is wrong. Appends
are left to it as well: with lists that grow, a history is long by its lists,
and not by the number of its operations.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, BinaryIO

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from checkers.columnar.columns import (
    ABSENT,
    ACQUIRE,
    FAIL,
    FENCE,
    INFO,
    NEVER,
    OK,
    READ,
    RELEASE,
    RENEW,
    REVOKE,
    WRITE,
    Columns,
    Flags,
    Ints,
    Operations,
)
from checkers.columnar.ranks import stable_order
from checkers.errors import HistoryError
from checkers.garbage import uncollected
from checkers.reading import lines
from checkers.reading.fault_lines import FAULT_DECODER, FAULT_SIGN, fault_event, is_fault
from checkers.reading.jsonl import MAX_LINE, Line, decode, half_written, is_cut_short
from checkers.reading.repeated_names import may_repeat_a_name
from checkers.records import FaultEvent, Header, History

_CHUNK = 1 << 20  # bytes that are decoded at a time
_INVOKE = -1
_TYPES = {"invoke": _INVOKE, "ok": OK, "fail": FAIL, "info": INFO}
_KINDS: dict[type, int] = {
    lines.Acquire: ACQUIRE,
    lines.Renew: RENEW,
    lines.Release: RELEASE,
    lines.Revoke: REVOKE,
    lines.Write: WRITE,
    lines.Fence: FENCE,
    lines.Read: READ,
}
_OWNED = [kind in {ACQUIRE, RENEW, RELEASE, REVOKE} for kind in range(len(_KINDS))]
_TOKENED = [kind in {ACQUIRE, WRITE, FENCE, READ} for kind in range(len(_KINDS))]
_LEASED = [kind in {ACQUIRE, RENEW} for kind in range(len(_KINDS))]
_NEWLINE, _OPENS, _CLOSES = b"\n{}"
_DECODER = msgspec.json.Decoder(lines.PlainLine)
_UNSET = 1  # the number of the value that a line does not have; 0 is null's


class NotSoundError(Exception):
    """Something is wrong with the lines, or not for columns; the careful reader knows what."""


def read_events(file: BinaryIO, header: Header, name: str) -> History:
    """Read what comes after the header.

    Raises:
        NotSoundError: something is wrong.
    """
    reading = _Reading(header, name)
    with uncollected():
        for chunk in _chunks(file):
            reading.add(chunk)
        return reading.finish()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, many at a time; only the end of the file may lack its newline."""
    held = b""
    while block := file.read(_CHUNK):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield held + block[:cut]
            held = block[cut:]
        else:
            held += block
        _insist(len(held) <= MAX_LINE)
    if held:
        yield held


class _Table:
    """Numbers things in the order in which they are first seen."""

    def __init__(self, *things: Any) -> None:
        self._count = itertools.count()
        self._numbers: defaultdict[Any, int] = defaultdict(self._count.__next__)
        for thing in things:
            self._numbers[thing]

    def __getitem__(self, thing: Any) -> int:
        return self._numbers[thing]

    def numbers(self, things: Iterable[Any], count: int) -> Ints:
        return np.fromiter(map(self._numbers.__getitem__, things), dtype=np.int64, count=count)

    @property
    def things(self) -> list[Any]:
        return list(self._numbers)


class _Reading:
    """The events so far, in columns of their own: an operation is two of them."""

    def __init__(self, header: Header, name: str) -> None:
        self._header = header
        self._name = name
        self._line = 1  # the last one that was taken
        self._resources, self._owners, self._errors = _Table(), _Table(), _Table(None)
        self._values = _Table(None, UNSET, header.initial_value)
        self._chunks: list[dict[str, Ints]] = []
        self._faults: list[FaultEvent] = []
        self._notices: list[str] = []

    def add(self, chunk: bytes) -> None:
        """Take some lines more."""
        if not chunk.endswith(b"\n"):
            chunk = self._last(chunk)
        starts, ends = _bounds(chunk)
        numbers = np.arange(self._line + 1, self._line + 1 + len(starts))
        self._line += len(starts)
        if FAULT_SIGN in chunk:
            chunk, numbers = self._without_faults(chunk, starts, ends, numbers)
        events = _decode(chunk)
        _insist(len(events) == len(numbers))
        if events:
            _insist(not may_repeat_a_name(chunk))
            self._chunks.append(self._columns(events) | {"line": numbers})

    def finish(self) -> History:
        """Join invokes and completions."""
        _insist(bool(self._chunks))
        events = {name: np.concatenate([chunk[name] for chunk in self._chunks]) for name in self._chunks[0]}
        self._chunks.clear()
        started = self._check_times(events["line"], events["time"])
        rows = np.flatnonzero(events["type"] == _INVOKE)
        ends = _completions(events["process"], events["type"])[rows]
        _check_repeats(events, rows[ends >= 0], ends[ends >= 0])
        _check_carries(events, rows[ends >= 0], ends[ends >= 0])
        initial = self._values[self._header.initial_value]
        _check_values(events["value"][rows[events["f"][rows] == WRITE]], initial)
        columns = self._join(events, rows, ends, initial)
        return History(
            header=self._header,
            operations=Operations(columns),
            faults=tuple(self._faults),
            notices=tuple(self._notices),
            started=started,
        )

    def _last(self, text: bytes) -> bytes:
        """A last line without its newline: whole, or half written."""
        cut = text.rfind(b"\n") + 1
        whole, last = text[:cut], text[cut:]
        if not is_cut_short(last):
            return text + b"\n"
        line = Line(self._name, self._line + whole.count(b"\n") + 1, last, unfinished=True)
        self._notices.append(half_written(line))
        return whole

    def _without_faults(self, chunk: bytes, starts: Ints, ends: Ints, numbers: Ints) -> tuple[bytes, Ints]:
        """Take the nemesis' lines out."""
        rest: list[bytes] = []
        kept: list[int] = []
        for start, end, number in zip(starts.tolist(), ends.tolist(), numbers.tolist(), strict=True):
            line = Line(self._name, number, chunk[start : end + 1], unfinished=False)
            if is_fault(line):
                self._faults.append(_fault(line))
            else:
                rest.append(line.text)
                kept.append(number)
        return b"".join(rest), np.array(kept, dtype=np.int64)

    def _columns(self, events: list[Any]) -> dict[str, Ints]:
        n = len(events)
        objects = np.empty(n, dtype=object)
        objects[:] = events
        f = np.fromiter(map(_KINDS.__getitem__, map(type, events)), dtype=np.int64, count=n)
        types = np.fromiter(map(_TYPES.__getitem__, _each("type", events)), dtype=np.int64, count=n)
        completed = types != _INVOKE
        return {
            "f": f,
            "type": types,
            "time": np.fromiter(_each("time", events), dtype=np.int64, count=n),
            "process": np.fromiter(_each("process", events), dtype=np.int64, count=n),
            "resource": self._resources.numbers(_each("resource", events), n),
            "owner": _numbered(self._owners, "owner", objects, _is(f, _OWNED), ABSENT),
            "value": _numbered(self._values, "value", objects, (f == WRITE) | (f == READ), 0),
            "error": _numbered(self._errors, "error", objects, completed, 0),
            "token": _optional("token", objects, _is(f, _TOKENED)),
            "ttl": _optional("ttl", objects, _is(f, _LEASED)),
            "attempt": _optional("attempt", objects, f == ACQUIRE),
        }

    def _check_times(self, numbers: Ints, times: Ints) -> int:
        """Events stand in the order of time, the nemesis' too; when was the first?"""
        all_times = np.empty(self._line + 1, dtype=np.int64)
        present = np.zeros(self._line + 1, dtype=np.bool_)
        all_times[numbers], present[numbers] = times, True
        for fault in self._faults:
            all_times[fault.line], present[fault.line] = fault.time, True
        all_times = all_times[present]
        _insist(bool(np.all(all_times[1:] >= all_times[:-1])) and all_times[-1] < NEVER)
        return int(all_times[0])

    def _join(self, events: dict[str, Ints], rows: Ints, ends: Ints, initial: int) -> Columns:
        completed = ends >= 0
        outcome = np.where(completed, events["type"][ends], INFO)
        ok = outcome == OK
        f = events["f"][rows]
        asks = (f == WRITE) | (f == FENCE)  # a read's token is its answer
        time = events["time"]
        error = np.where(completed, events["error"][ends], 0)
        return Columns(
            f=f.astype(np.int8),
            outcome=outcome.astype(np.int8),
            process=events["process"][rows],
            resource=events["resource"][rows],
            owner=events["owner"][rows],
            value=np.where(ok, events["value"][ends], np.where(f == WRITE, events["value"][rows], 0)),
            token=np.where(ok, events["token"][ends], np.where(asks, events["token"][rows], ABSENT)),
            called=time[rows],
            returned=np.where(completed & (outcome != INFO), time[ends], NEVER),
            learned=np.where(completed, time[ends], ABSENT),
            ttl=np.where(
                ok | (completed & (events["ttl"][ends] != ABSENT)), events["ttl"][ends], events["ttl"][rows]
            ),
            attempt=np.where(ok, events["attempt"][ends], ABSENT),
            error=np.where(error == 0, ABSENT, error),
            invoked_line=events["line"][rows],
            completed_line=np.where(completed, events["line"][ends], ABSENT),
            resources=self._resources.things,
            owners=self._owners.things,
            values=[None if value is UNSET else value for value in self._values.things],
            errors=[str(error) for error in self._errors.things],
            initial=initial,
        )


def _bounds(chunk: bytes) -> tuple[Ints, Ints]:
    """Where each line starts, and where its newline is; each must look like one object.

    No object can then span two lines: within one, `}` is never followed by `{`.
    """
    text = np.frombuffer(chunk, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    starts = np.zeros(len(ends), dtype=np.int64)
    starts[1:] = ends[:-1] + 1
    _insist(bool(np.all(ends - starts < MAX_LINE)))
    _insist(bool(np.all(text[starts] == _OPENS) and np.all(text[ends - 1] == _CLOSES)))
    return starts, ends


def _decode(chunk: bytes) -> list[Any]:
    try:
        return _DECODER.decode_lines(chunk if chunk.isascii() else chunk.decode())
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError, ValueError):
        raise NotSoundError from None


def _fault(line: Line) -> FaultEvent:
    try:
        event = decode(line, FAULT_DECODER)
    except HistoryError:
        raise NotSoundError from None
    if event is None:
        raise NotSoundError
    return fault_event(line, event)


def _each(name: str, events: Iterable[Any]) -> Iterator[Any]:
    return map(attrgetter(name), events)


def _is(kinds: Ints, wanted: Sequence[bool]) -> Flags:
    return np.array(wanted)[kinds]


def _numbered(table: _Table, name: str, events: NDArray[Any], wanted: Flags, default: int) -> Ints:
    """The number of a field's value, where the wanted kinds of events have it."""
    column = np.full(len(events), default, dtype=np.int64)
    having = events[wanted].tolist()
    column[wanted] = table.numbers(_each(name, having), len(having))
    return column


def _optional(name: str, events: NDArray[Any], wanted: Flags) -> Ints:
    """A field that may be null, of the wanted kinds of events."""
    column = np.full(len(events), ABSENT, dtype=np.int64)
    having = events[wanted].tolist()
    column[wanted] = [field if isinstance(field, int) else ABSENT for field in _each(name, having)]
    return column


def _completions(process: Ints, types: NDArray[Any]) -> Ints:
    """For each invoke the event that completes it, or -1: a process does one thing at a time."""
    order = stable_order(process)
    process, types = process[order], types[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = process[1:] != process[:-1]
    places = np.arange(len(order))
    first = np.maximum.accumulate(np.where(is_first, places, 0))
    is_invoke = (places - first) % 2 == 0
    _insist(bool(np.all(is_invoke == (types == _INVOKE))))
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = is_first[1:]
    _insist(bool(np.all(is_last[types == INFO])))
    of_event = np.full(len(order), -1, dtype=np.int64)
    answered = np.flatnonzero(is_invoke & ~is_last)
    of_event[order[answered]] = order[answered + 1]
    return of_event


def _check_repeats(events: dict[str, Ints], rows: Ints, ends: Ints) -> None:
    """Are these the completions of those invokes?"""
    f = events["f"][rows]
    asks = (f == WRITE) | (f == FENCE)
    for name in ("f", "resource", "owner"):
        _insist(bool(np.array_equal(events[name][rows], events[name][ends])))
    for name in ("token", "value"):
        _insist(bool(np.array_equal(events[name][rows[asks]], events[name][ends[asks]])))


def _check_carries(events: dict[str, Ints], rows: Ints, ends: Ints) -> None:
    """Does each ok carry what its kind of operation answers?"""
    ok = events["type"][ends] == OK
    rows, ends = rows[ok], ends[ok]
    f, token, attempt = events["f"][ends], events["token"][ends], events["attempt"][ends]
    answers = (f == ACQUIRE) | (f == READ)
    _insist(not np.any(token[answers] == ABSENT))
    _insist(not np.any(events["value"][ends[f == READ]] == _UNSET))
    outside = (attempt < events["time"][rows]) | (attempt > events["time"][ends])
    _insist(not np.any(outside & (attempt != ABSENT)))


def _check_values(written: Ints, initial: int) -> None:
    """Each value is written once in a run."""
    counts = np.bincount(written, minlength=initial + 1)
    _insist(int(counts.max()) <= 1 and counts[initial] == 0)


def _insist(sound: bool) -> None:  # noqa: FBT001 - it reads as an assertion
    if not sound:
        raise NotSoundError
