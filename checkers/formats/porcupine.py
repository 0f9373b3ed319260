"""Jepsen's etcd logs, as Porcupine's tests read them.

An etcd log has one event per line, `INFO  jepsen.util - 0	:invoke	:cas	[1 2]`, as in
Jepsen's `history.txt` without the prefix. It has one register with whole
numbers as values; nil is the initial one. A cas that failed found another value. A
read that failed timed out, as did any call that ended in info.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from checkers.formats import edn
from checkers.formats.event import Call, CallError, Event, Foreign, Note, is_bystander, type_named
from checkers.formats.pairing import pair
from checkers.formats.text import Text
from checkers.formats.values import frozen, pair_of
from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError

_EVENT = re.compile(
    r"(?:[A-Z]+\s+jepsen\.util\s+-\s+)?(?P<process>[0-9]{1,18}|:[a-z][\w.-]*)"
    r"\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>[a-z][\w-]*)\s+(?P<value>\S.*)"
)
_OTHERS = re.compile(r"[A-Z]+\s+(?!jepsen\.util\s)[\w.$-]+\s+-\s")  # another logger's line
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_OCTAL = re.compile(r"(?<![0-9:\w.-])[+-]?0[0-9]")  # 8 in EDN for 010, where Porcupine reads 10
_MARK = "INFO  jepsen.util - "


def read_etcd(text: Text) -> Foreign:
    """Read an etcd log. Its last line must be whole, since half a number is a number too.

    Raises:
        HistoryError: a line is not an event, or the events cannot be a history.
    """
    notices: list[str] = []
    paired = pair(_events(text, notices), text.name)
    return replace(paired, notices=tuple(notices))


def write_etcd(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the lines of an etcd log; if not all values are whole numbers, they are numbered in order.

    A cas that failed with the value that it found is written as a read of it: the format
    cannot express the value that it found.

    Raises:
        ValueError: the calls are about several registers, or no register's, or one of
            them writes or expects nil, or is a cas that failed although it found what it expected.
    """
    _check_register(calls)
    calls = tuple(map(_as_read, calls))
    numbers = _numbers(calls)
    events = [event for call in calls for event in _written(call, numbers)]
    events.sort(key=lambda event: event[0])
    return (line for _, line in events)


def _events(text: Text, notices: list[str]) -> Iterator[Event | Note]:
    lines = text.content.split("\n")
    if lines.pop():
        notices.append(text.half_written())
    others = 0
    for number, line in enumerate(lines, start=1):
        if len(line) > edn.MAX_FORM:
            raise HistoryError(text.name, number, f"a line of more than {edn.MAX_FORM} characters")
        found = _EVENT.fullmatch(line.rstrip())
        if found is not None:
            yield _event(found, text.name, number)
        elif _OTHERS.match(line):
            others += 1
        elif line.strip():
            raise HistoryError(text.name, number, f"not a log event: {line:.80}")
    if others:
        said = "1 line of another logger was" if others == 1 else f"{others} lines of other loggers were"
        notices.append(f"{text.name}: {said} left out")


def _event(found: re.Match[str], file: str, line: int) -> Event | Note:
    process, text = found["process"], found["value"].split("\t")[0]
    if process.startswith(":"):
        if not is_bystander(process[1:], found["type"]):
            raise HistoryError(file, line, f"process {process:.80} is not a number, as a client's is")
        return Note(line=line)
    try:
        value = _read_value(text)
    except ValueError as error:
        problem = error.problem if isinstance(error, edn.EdnError) else error
        raise HistoryError(file, line, f"{problem}, in: {text:.80}") from None
    kind, f = type_named(found["type"]), found["f"]
    is_pair = pair_of(value) is not None
    is_right = is_pair if f == "cas" else value is None or type(value) is int
    if kind in {"invoke", "ok"} and not is_right:
        raise HistoryError(file, line, f"{f} of {text:.80}; the register holds whole numbers, or nil")
    refused = kind == "fail" and is_pair
    return Event(line=line, process=int(process), type=kind, f=f, value=value, refused=refused)


def _read_value(text: str) -> Hashable:
    if _OCTAL.search(text):
        raise ValueError("a number that begins with 0")
    return frozen(edn.loads(text))


def _check_register(calls: Iterable[Call]) -> None:
    keys = {call.key for call in calls}
    if len(keys) > 1:
        named = f"{len(keys)}: {', '.join(sorted(map(str, keys))[:5])}"
        raise ValueError(f"an etcd log is of one register, and this history has {named}; name one (--key)")
    for call in calls:
        if call.f not in {"read", "write", "cas"}:
            raise CallError(call.lines[0], f"an etcd log has no {call.f}")


def _as_read(call: Call) -> Call:
    if call.seen is NO_VALUE:
        return call
    expected, _ = pair_of(call.asked) or (NO_VALUE, NO_VALUE)
    if call.seen == expected:
        raise CallError(call.lines[-1], "an etcd log cannot express a cas that failed on a match")
    return replace(
        call, f="read", asked=None, answered=call.seen, outcome=Outcome.OK, refused=False, seen=NO_VALUE
    )


def _numbers(calls: Iterable[Call]) -> dict[object, str]:
    """Return how each value is written: nil as nil, the others as themselves if all are numbers."""
    values = dict.fromkeys(value for call in calls for value in _values(call) if value is not None)
    plain = all(_NUMBER.fullmatch(repr(value)) for value in values)
    return {None: "nil"} | {value: str(value if plain else place) for place, value in enumerate(values)}


def _values(call: Call) -> tuple[object, ...]:
    if call.f == "read":
        return (call.answered,) if call.outcome is Outcome.OK else ()
    return call.asked if call.f == "cas" and isinstance(call.asked, tuple) else (call.asked,)


def _written(call: Call, numbers: dict[object, str]) -> Iterator[tuple[int, str]]:
    if call.outcome is Outcome.FAIL and not call.refused:
        return  # it shows nothing
    if call.f != "read" and None in _values(call):
        raise CallError(call.lines[0], f"an etcd log cannot express a {call.f} of nil")
    asked = _value(call, numbers) if call.f != "read" else "nil"
    yield call.called, f"{_MARK}{call.process}\t:invoke\t:{call.f}\t{asked}\n"
    if call.completed is not None:
        text = _value(call, numbers) if call.outcome is not Outcome.INFO else ":timed-out"
        yield call.completed, f"{_MARK}{call.process}\t:{call.outcome}\t:{call.f}\t{text}\n"


def _value(call: Call, numbers: dict[object, str]) -> str:
    values = [numbers[value] for value in _values(call)]
    return f"[{' '.join(values)}]" if call.f == "cas" else values[0]
