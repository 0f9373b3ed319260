"""Jepsen's histories: `history.edn`, and the same as JSON; read and written.

Either is one vector of events or an event after another, each a map or a record
such as `#jepsen.history.Op{…}`. Processes that are no numbers, such as
`:nemesis`, are kept as notes. The order of events is their real-time order;
`:time` tells when, in nanoseconds.

Where a test runs several objects (jepsen.independent), each value is `[key value]`:
see `keys`. A lock's grant may carry its fencing token as the ok's value, by itself, as
`:token` or `:fence` of a map, as the tests of Hazelcast do, or as the second of two elements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import msgspec

from checkers.errors import HistoryError
from checkers.history.jsonl import is_cut_short
from checkers.history.records import Outcome
from checkers.interop import edn, maps
from checkers.interop.edn import Keyword, Tagged
from checkers.interop.event import Call, Event, Foreign, Note
from checkers.interop.keys import split_keys
from checkers.interop.pairing import pair
from checkers.interop.text import Text
from checkers.interop.values import thawed
from checkers.linearizability.operation import UNKNOWN

_BLANK = re.compile(r"[ \t\r\n]*")


def read_edn(text: Text) -> Foreign:
    """Read `history.edn`.

    Raises:
        HistoryError: it is not EDN, or cannot be a history.
    """
    notices: list[str] = []
    return _history(text, _edn_events(text, notices), notices)


def read_json(text: Text) -> Foreign:
    """Read the same as JSON: an array, or an object a line.

    Raises:
        HistoryError: it is not JSON, or cannot be a history.
    """
    notices: list[str] = []
    return _history(text, _json_events(text, notices), notices)


def write_edn(calls: Iterable[Call]) -> Iterator[str]:
    """The lines of `history.edn`, an event each; what had no completion gets none."""
    events = [event for call in calls for event in _written(call)]
    events.sort(key=lambda event: event[0])
    for index, (_, fields) in enumerate(events):
        numbered = {"index": index} | fields
        yield edn.dumps({Keyword(name): value for name, value in numbered.items()}) + "\n"


def _history(text: Text, events: Iterator[Event | Note], notices: list[str]) -> Foreign:
    paired = pair(events, text.name)
    split = split_keys(paired.calls, text.name)
    return replace(paired, calls=split.calls, notices=(*paired.notices, *split.notices, *notices))


def _edn_events(text: Text, notices: list[str]) -> Iterator[Event | Note]:
    content = text.content
    is_vector = edn.is_vector(content)
    try:
        for form in edn.read_elements(content) if is_vector else edn.read(content):
            yield _event(form.value, text.name, form.line)
    except edn.EdnError as error:
        if is_vector or not text.is_cut or error.unfinished != text.last_line:
            raise HistoryError(text.name, error.line, error.problem) from None
        notices.append(text.half_written())


def _event(form: Any, file: str, line: int) -> Event | Note:
    if isinstance(form, Tagged) and isinstance(form.value, dict):
        form = form.value  # a record
    if not isinstance(form, dict):
        raise HistoryError(file, line, f"{form!r:.80} is not an event; an event is a map")
    return maps.event(form, file, line)


def _json_events(text: Text, notices: list[str]) -> Iterator[Event | Note]:
    try:
        for line, value in _json_values(text):
            yield _event(value, text.name, line)
    except _HalfWrittenError:
        notices.append(text.half_written())


class _HalfWrittenError(Exception):
    """The last line of the file is not whole."""


def _json_values(text: Text) -> Iterator[tuple[int, Any]]:
    """The objects of an array, or a sequence of objects, each with its line."""
    reader = _JsonReader(text)
    if not reader.takes("["):
        while not reader.at_end():
            yield reader.value()
        return
    if not reader.takes("]"):
        yield reader.value()
        while reader.takes(","):
            yield reader.value()
        if not reader.takes("]"):
            raise reader.error("the array is not closed here, nor does it go on")
    if not reader.at_end():
        raise reader.error("there is text after the end of the array")


class _JsonReader:
    """Reads a text value by value, so that each has its line."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._place = 0
        self._line = 1  # of `_place`
        self._is_array = False
        self._decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)

    def at_end(self) -> bool:
        content = self._text.content
        end = _BLANK.match(content, self._place).end()  # type: ignore[union-attr] # it always matches
        self._line += content.count("\n", self._place, end)
        self._place = end
        return end == len(content)

    def takes(self, character: str) -> bool:
        if self.at_end() or self._text.content[self._place] != character:
            return False
        self._place += 1
        self._is_array |= character == "["
        return True

    def value(self) -> tuple[int, Any]:
        self.at_end()
        line, begin = self._line, self._place
        try:
            value, end = self._decoder.raw_decode(self._text.content, begin)
        except (ValueError, RecursionError) as error:
            if self._is_half_written():
                raise _HalfWrittenError from None
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise self.error(f"not JSON: {problem}") from None
        if end - begin > edn.MAX_FORM:
            raise self.error(f"an event of more than {edn.MAX_FORM} characters")
        if "\\u" in self._text.content[begin:end] and not _is_text(value):
            raise self.error("a text with half of a surrogate pair")
        self._line += self._text.content.count("\n", begin, end)
        self._place = end
        return line, value

    def _is_half_written(self) -> bool:
        """Is what is left the beginning of an event on the file's last line?"""
        rest = self._text.content[self._place :]
        return not self._is_array and self._text.is_cut and "\n" not in rest and is_cut_short(rest.encode())

    def error(self, problem: str) -> HistoryError:
        shown = self._text.content[self._place : self._place + 80]
        return HistoryError(self._text.name, self._line, f"{problem}: {shown!r}")


def _is_text(value: Any) -> bool:
    """Is every surrogate in it one of a pair?"""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("an object with a repeated name")
    return built


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} cannot be compared")


def _written(call: Call) -> Iterator[tuple[int, dict[str, Any]]]:
    """The events of a call, with their places."""
    ask = call.asked if call.f != "read" else None
    yield call.called, _fields(call, Keyword("invoke"), ask, call.times[0])
    if call.completed is None:
        return
    answer = call.answered if call.outcome is Outcome.OK and call.answered is not UNKNOWN else ask
    fields = _fields(call, Keyword(call.outcome.value), answer, call.times[1])
    if call.refused:
        fields["error"] = Keyword(maps.REFUSED)
    if call.seen is not UNKNOWN:
        fields["seen"] = thawed(call.seen)
    yield call.completed, fields


def _fields(call: Call, kind: Keyword, value: Any, time: int | None) -> dict[str, Any]:
    plain = thawed(value)
    fields = {"process": call.process, "type": kind, "f": Keyword(call.f)}
    if time is not None:
        fields = {"time": time} | fields
    return fields | {"value": plain if call.key is None else (thawed(call.key), plain)}
