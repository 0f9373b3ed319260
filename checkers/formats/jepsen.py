"""Jepsen's histories: `history.edn`, and the same as JSON; read and written.

Either is one vector of events or one event after another, each a map or a record such as
`#jepsen.history.Op{…}`. Processes that are not numbers, such as `:nemesis`, are not judged. The order of
events is their real-time order; `:time` is in nanoseconds.

Where a test runs several objects (jepsen.independent), each value is `[key value]`:
see `keys`. A lock's grant may carry its fencing token as the ok's value, as
`:token` or `:fence` of a map, as in the tests of Hazelcast, or as the second of two elements.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from checkers.formats import edn, json_values, maps
from checkers.formats.atoms import Keyword
from checkers.formats.collisions import without_collisions
from checkers.formats.edn import Tagged
from checkers.formats.event import Call, CallError, Event, Foreign, Note
from checkers.formats.keys import split_keys
from checkers.formats.pairing import pair
from checkers.formats.text import Text
from checkers.formats.values import Map, thawed, written
from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError
from checkers.text.places import EventIndex
from checkers.text.printable import shorten

_SHOWN = 120  # characters


def read_edn(text: Text) -> Foreign:
    """Read `history.edn`; HistoryError if it is not EDN, or cannot be a history."""
    notices: list[str] = []
    return _history(text, _edn_events(text, notices), notices)


def read_json(text: Text) -> Foreign:
    """Read the same as JSON, an array or one object per line; HistoryError as for EDN."""
    notices: list[str] = []
    return _history(text, _json_events(text, notices), notices)


def write_edn(calls: Iterable[Call]) -> Iterator[str]:
    """Yield the lines of `history.edn`, one event each; a call without a completion gets none.

    Raises:
        CallError: an operation has a name that no keyword can have.
    """
    events = [event for call in calls for event in _written(call)]
    events.sort(key=lambda event: event[0])
    return (_line({"index": index} | fields) for index, (_, fields) in enumerate(events))


def _line(fields: dict[str, Any]) -> str:
    return edn.dumps({Keyword(name): value for name, value in fields.items()}) + "\n"


def _history(text: Text, events: Iterator[Event | Note], notices: list[str]) -> Foreign:
    paired = pair(events, text.name)
    calls, about_keys = split_keys(paired.calls, text.name)
    values = (value for call in calls for value in (call.key, call.asked, call.answered, call.seen))
    try:
        without_collisions([value for value in values if isinstance(value, tuple | frozenset | Map | Tagged)])
    except ValueError as error:
        raise HistoryError(text.name, 1, str(error)) from None
    return replace(paired, calls=calls, notices=(*paired.notices, *about_keys, *notices))


def _edn_events(text: Text, notices: list[str]) -> Iterator[Event | Note]:
    content = text.content
    is_vector = edn.is_vector(content)
    try:
        forms = edn.read_elements(content) if is_vector else edn.read(content)
        by_index = is_vector and text.is_one_line
        for index, form in enumerate(forms):
            yield _event(form.value, text.name, EventIndex(index) if by_index else form.line, edn.dumps)
    except edn.EdnError as error:
        if is_vector or not text.is_cut or error.unfinished != text.last_line:
            raise HistoryError(text.name, error.line, error.problem) from None
        notices.append(text.half_written())


def _event(form: Any, file: str, line: int, dumps: Callable[[Any], str]) -> Event | Note:
    """Read the event in a form; `dumps` writes it in the file's notation, for a message."""
    fields = form.value if isinstance(form, Tagged) else form  # of a record
    if not isinstance(fields, dict):
        raise HistoryError(file, line, f"{_shown(form, dumps)} is not an event; an event is a map")
    try:
        return maps.event(fields, line)
    except (ValueError, RecursionError) as error:
        raise HistoryError(file, line, f"{error}, in: {_shown(form, dumps)}") from None


def _shown(form: Any, dumps: Callable[[Any], str]) -> str:
    try:
        return shorten(dumps(form), _SHOWN)
    except RecursionError:
        return "a value that is nested too deep"


_as_json = functools.partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def _json_events(text: Text, notices: list[str]) -> Iterator[Event | Note]:
    by_index = text.is_one_line and text.content.lstrip().startswith("[")
    try:
        for index, (line, value) in enumerate(json_values.read(text)):
            yield _event(value, text.name, EventIndex(index) if by_index else line, _as_json)
    except json_values.HalfWrittenError:
        notices.append(text.half_written())


def _written(call: Call) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events of a call, with their positions."""
    ask = call.asked if call.f != "read" else None
    yield call.called, _fields(call, Keyword("invoke"), ask, call.times[0])
    if call.completed is None:
        return
    answer = call.answered if call.outcome is Outcome.OK and call.answered is not NO_VALUE else ask
    fields = _fields(call, Keyword(call.outcome.value), answer, call.times[1])
    if call.refused:
        fields["error"] = Keyword(maps.REFUSED)
    if call.seen is not NO_VALUE:
        fields["seen"] = thawed(call.seen)
    yield call.completed, fields


def _fields(call: Call, kind: Keyword, value: Any, time: int | None) -> dict[str, Any]:
    if not edn.is_keyword(call.f):
        problem = f"the operation {written(call.f)} cannot be written: no keyword of EDN has that name"
        raise CallError(call.lines[0], problem)
    plain = thawed(value)
    fields = {"process": call.process, "type": kind, "f": Keyword(call.f)}
    if time is not None:
        fields = {"time": time} | fields
    return fields | {"value": plain if call.key is None else (thawed(call.key), plain)}
