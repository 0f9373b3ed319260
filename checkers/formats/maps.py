"""Events that are maps, as Jepsen, Knossos and Porcupine write them, in any notation.

The fields are `process type f value` and, if present, `index`, `time` (ns) and `key`. A failure shows only
that there was no effect. The exception is a cas whose `error` is `:precondition-failed`, as Maelstrom writes
it, or that has the value it found in `seen`: it found another value than it expected. Other fields are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkers.formats.atoms import Keyword, Symbol
from checkers.formats.event import Event, Note, is_bystander, type_named
from checkers.formats.values import INT64, frozen, written
from checkers.history.operation import NO_VALUE
from checkers.text.places import EventIndex

REFUSED = "precondition-failed"
_MOST = 1 << 62  # of an index; of a time it is 146 years in nanoseconds
_ABSENT = -1  # in Jepsen, an event without a time or index
_SHOWN = 120  # characters


def event(fields: Mapping[Any, Any], line: int) -> Event | Note:
    """Read the event in a map; keys are keywords or strings. ValueError: a field is missing, or wrong."""
    names = {_name(key): value for key, value in fields.items()}
    if len(names) < len(fields):
        raise ValueError("a field that occurs twice")
    fields = names
    process = fields.get("process")
    index, time = _number(fields, "index"), _number(fields, "time")
    if isinstance(line, EventIndex) and index is not None:
        line = EventIndex(index)
    if type(process) is not int:
        word = _word(fields, "process").removeprefix(":")  # of the nemesis, or of another process with a name
        if not is_bystander(word, _name(fields.get("type"))):
            raise ValueError(f"process {word[:_SHOWN]!r} is not a number, as a client's is")
        return Note(line=line, time=time, index=index)
    if not 0 <= process < INT64:
        raise ValueError(f"process {process} is not a process number")
    return Event(
        line=line,
        process=process,
        type=type_named(_word(fields, "type")),
        f=_word(fields, "f"),
        value=frozen(fields.get("value")),
        key=frozen(fields.get("key")),
        time=time,
        index=index,
        refused=_is_refused(fields),
        seen=frozen(fields["seen"]) if "seen" in fields else NO_VALUE,
    )


def _word(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, Keyword):
        return value.name
    word = _name(value)
    if not isinstance(value, str | Symbol) or not word:
        problem = f"no {name}" if value is None else f"{name} is {written(value)}, which is not a word"
        raise ValueError(problem)
    return word


def _number(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None or (type(value) is int and value == _ABSENT):
        return None
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(f"{name} is {written(value)}; it is a whole number from 0 to {_MOST - 1}")
    return value


def _is_refused(fields: Mapping[str, Any]) -> bool:
    """Did a cas fail because of the value that it found? Other failures show nothing."""
    if _name(fields["type"]) != "fail" or _name(fields["f"]) != "cas":
        return False
    error = fields.get("error")
    reason = error[0] if isinstance(error, tuple | list) and error else error
    return "seen" in fields or _name(reason) == REFUSED


def _name(value: Any) -> str:
    if type(value) is str:
        return value
    return value.name if isinstance(value, Keyword | Symbol) else str(value)
