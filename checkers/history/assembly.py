"""Join the events of a history into operations, and refuse events that no process can have recorded."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import get_args

from msgspec import UNSET, structs

from checkers.history.jsonl import Line
from checkers.history.lines import (
    Acquire,
    Append,
    ClientLine,
    Execute,
    FaultLine,
    Read,
    Submit,
    Take,
    Write,
    fault_event,
)
from checkers.history.records import WRITES, FaultEvent, Header, History, List, Op, Outcome, Value
from checkers.text.errors import as_recorded
from checkers.text.printable import quoted

_SAME = ("resource", "owner", "value", "element", "token", "job", "due")  # repeated by a completion
_ASKED_WITH_TOKEN = (*WRITES, "fence", "execute")  # in other operations, the token is the answer


class Assembly:
    """Joins invokes and completions into operations, and refuses impossible events."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._operations: list[Op | None] = []  # None: still open
        self._faults: list[FaultEvent] = []
        self._open: dict[int, tuple[Line, ClientLine, int]] = {}
        self._ended: dict[int, int] = {}  # process → the line of the info that ended it
        self._written: dict[Value, int] = {}  # value or element → the line that writes it
        self._once: dict[tuple[str, str, str], int] = {}  # kind, queue and name → the line that uses it
        self._lists: dict[List, List] = {}  # each list is kept once, however often it is read
        self._started: int | None = None
        self._now = 0
        self.notices: list[str] = []

    def add(self, line: Line, event: ClientLine | FaultLine) -> None:
        """Add the next event; HistoryError if it cannot follow the events before it."""
        if self._started is None:
            self._started = event.time
        if event.time < self._now:
            problem = f"time runs backwards from {self._now} to {event.time}; events are in the order of time"
            raise line.error(problem)
        self._now = event.time
        if isinstance(event, FaultLine):
            self._faults.append(fault_event(line.number, event, self._header))
        elif event.type == "invoke":
            self._invoke(line, event)
        else:
            self._complete(line, event)

    def finish(self) -> History:
        """Return the history. Open operations stay open, as after a kill."""
        for line, event, index in self._open.values():
            self._operations[index] = _pending(line, event, index)
        operations = tuple(filter(None, self._operations))
        faults, notices, started = tuple(self._faults), tuple(self.notices), self._started or 0
        return History(
            header=self._header, operations=operations, faults=faults, notices=notices, started=started
        )

    def _invoke(self, line: Line, event: ClientLine) -> None:
        process = event.process
        if process in self._ended:
            problem = f"process {process} ended in info at line {self._ended[process]} and is used again"
            raise line.error(f"{problem}; after an info a client continues under a new process number")
        if process in self._open:
            since = self._open[process][0].number
            problem = f"process {process} has an operation open since line {since}"
            raise line.error(f"{problem}; a process does one thing at a time")
        if isinstance(event, Write):
            self._claim(line, event.value)
        elif isinstance(event, Append):
            self._claim(line, event.element)
        elif isinstance(event, Submit):
            self._use(line, event.resource, "job", event.job, "submitted")
        elif isinstance(event, Execute):
            self._use(line, event.resource, "owner", event.owner, "used")
        self._open[process] = (line, event, len(self._operations))
        self._operations.append(None)

    def _claim(self, line: Line, value: Value) -> None:
        if value in self._written:
            problem = f"value {as_recorded(value)} is also written at line {self._written[value]}"
            raise line.error(f"{problem}; each value is written once in a run")
        initial = self._header.initial_value
        if value == initial or (isinstance(initial, tuple) and value in initial):
            problem = f"value {as_recorded(value)} is the initial one; each value is written once in a run"
            raise line.error(problem)
        self._written[value] = line.number

    def _use(self, line: Line, queue: str, what: str, name: str, done: str) -> None:
        """Note the name of a job or an execution; HistoryError if its queue had it before."""
        before = self._once.setdefault((what, queue, name), line.number)
        if before != line.number:
            problem = f"{what} {quoted(name)} is also {done} at line {before}"
            raise line.error(f"{problem}; each {what} is {done} once in a run")

    def _complete(self, line: Line, event: ClientLine) -> None:
        if event.process not in self._open:
            problem = f"process {event.process} has no operation open: this {event.type} has no invoke"
            raise line.error(problem)
        invoked, invoke, index = self._open.pop(event.process)
        if event.type == "info":
            self._ended[event.process] = line.number
        _check_repeats(line, event, invoked, invoke)
        _check_carries(line, event, invoke)
        self._operations[index] = self._interned(_completed(invoked, invoke, line, event, index))

    def _interned(self, op: Op) -> Op:
        if type(op.value) is tuple:
            op = replace(op, value=self._lists.setdefault(op.value, op.value))
        if op.seen is not None:
            op = replace(op, seen=self._lists.setdefault(op.seen, op.seen))
        return op


def _pending(line: Line, event: ClientLine, index: int) -> Op:
    op = _completed(line, event, line, structs.replace(event, type="info"), index)
    value = None if isinstance(event, Append) else op.value
    return replace(op, value=value, seen=None, ended=None, error=None, learned=None, lines=(line.number,))


def _completed(invoked: Line, invoke: ClientLine, line: Line, event: ClientLine, index: int) -> Op:
    f = _NAME[type(event)]
    outcome = _OUTCOMES[event.type]
    ok = outcome is Outcome.OK
    ttl = getattr(event, "ttl", None)
    if ttl is None and not ok:
        ttl = getattr(invoke, "ttl", None)
    value = getattr(event, "value", None) if ok or f == "write" else None
    return Op(
        index=index,
        process=event.process,
        f=f,
        resource=event.resource,
        called=invoke.time,
        returned=None if outcome is Outcome.INFO else event.time,
        outcome=outcome,
        owner=getattr(event, "owner", None),
        token=getattr(event, "token", None) if ok or f in _ASKED_WITH_TOKEN else None,
        value=event.written if isinstance(event, Append) else value,
        element=event.element if isinstance(event, Append) else None,
        seen=event.read if isinstance(event, Append) else None,
        ttl=ttl,
        attempt=getattr(event, "attempt", None) if ok else None,
        job=getattr(event, "job", None) if ok or f != "take" else None,
        due=getattr(event, "due", None),
        ended=getattr(event, "ended", None),
        error=event.error,
        learned=event.time,
        lines=(invoked.number, line.number),
    )


def _check_repeats(line: Line, event: ClientLine, invoked: Line, invoke: ClientLine) -> None:
    """Raise HistoryError unless a completion repeats the fields of its invoke."""
    kind = type(event)
    if kind is not type(invoke):
        asked = f"line {invoked.number} invoked {_NAME[type(invoke)]}"
        raise line.error(f"{event.type} of {_NAME[kind]}, but {asked}")
    if _REPEATED[kind](event) == _REPEATED[kind](invoke):
        return
    for name in _repeated_names(kind):
        asked, repeated = getattr(invoke, name), getattr(event, name)
        if asked != repeated:
            before = f"invoked with {as_recorded(asked)} at line {invoked.number}"
            raise line.error(f"{name} is {as_recorded(repeated)}, but the operation was {before}")


def _repeated_names(kind: type[ClientLine]) -> list[str]:
    """Return the names of the fields that a completion repeats from its invoke, except its answers."""
    answers = _ANSWERS.get(kind, ())
    return [name for name in _SAME if name in kind.__struct_fields__ and name not in answers]


_ANSWERS: dict[type[ClientLine], tuple[str, ...]] = {
    Acquire: ("token",),
    Read: ("token", "value"),
    Take: ("job",),
}
_NAME: dict[type[ClientLine], str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(ClientLine)}
_REPEATED = {kind: attrgetter(*_repeated_names(kind)) for kind in _NAME}
_OUTCOMES = {str(outcome): outcome for outcome in Outcome}


def _check_carries(line: Line, event: ClientLine, invoke: ClientLine) -> None:
    """Raise HistoryError if an answer is missing, or impossible for its operation."""
    if isinstance(event, Append):
        _check_lists(line, event)
    _check_within("ended", line, event, invoke)
    if event.type != "ok":
        return
    if isinstance(event, Acquire) and event.token is UNSET:
        raise line.error("an ok acquire without a token; it carries the granted one, or null")
    if isinstance(event, Read) and event.token is UNSET:
        raise line.error("an ok read without a token; it carries the one that it read, or null")
    if isinstance(event, Read) and event.value is UNSET:
        raise line.error("an ok read without a value; it carries the one that it read, or null")
    if isinstance(event, Take) and event.job is None:
        raise line.error("an ok take without a job; it carries the one that the worker got")
    if isinstance(event, Execute) and event.ended is None:
        raise line.error("an ok execute without `ended`; it carries when the program reported its end")
    _check_within("attempt", line, event, invoke)


def _check_within(name: str, line: Line, event: ClientLine, invoke: ClientLine) -> None:
    """Raise HistoryError if a moment that an answer carries lies outside of its operation."""
    moment = getattr(event, name, None)
    if moment is not None and not invoke.time <= moment <= event.time:
        ran = f"ran from {invoke.time} to {event.time}"
        raise line.error(f"{name} {moment} lies outside of its operation, which {ran}")


def _check_lists(line: Line, event: Append) -> None:
    """Raise HistoryError if an ok append lacks a list, or one wrote a list without its element last."""
    if event.type == "ok" and (event.read is None or event.written is None):
        raise line.error("an ok append without its lists; it carries the one it read and the one it wrote")
    if event.written is not None and event.written[-1:] != (event.element,):
        raise line.error(f"an append writes a list that ends with its element, here {quoted(event.element)}")
