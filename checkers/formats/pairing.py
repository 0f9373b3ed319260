"""Pairs events into calls: each completion with its invoke; impossible events are refused.

A client is one process that does one thing at a time. After an info, its operation
may still be in progress, so its process is never used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checkers.formats.event import Call, Event, Foreign, Note
from checkers.formats.values import written
from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError
from checkers.text.places import cited

REPEATS = frozenset({"write", "put", "append", "cas"})  # operations whose ok repeats the request
SLACK = 1_000_000_000
"""The most, in ns, that a time may be before an earlier event's: Jepsen's clients used to read the clock
before they queued for the history. A larger difference means that the file was merged wrongly."""


def pair(events: Iterable[Event | Note], name: str) -> Foreign:
    """Pair events, in order, into calls; HistoryError if sequential processes cannot have recorded them."""
    pairing = _Pairing(name)
    for place, event in enumerate(events):
        pairing.add(place, event)
    return Foreign(name=name, calls=tuple(pairing.calls), notices=tuple(pairing.notices))


class _Pairing:
    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 0  # of the event
        self._open: dict[int, int] = {}  # process → place in `calls`
        self._ended: dict[int, int] = {}  # process → the line of the info that ended it
        self._time = 0
        self._index: int | None = None
        self.calls: list[Call] = []
        self.notices: list[str] = []

    def add(self, place: int, event: Event | Note) -> None:
        self._line = event.line
        self._check_order(event)
        if isinstance(event, Event):
            (self._invoke if event.type == "invoke" else self._complete)(place, event)

    def _check_order(self, event: Event | Note) -> None:
        if event.index is not None:
            if self._index is not None and event.index <= self._index:
                problem = f"index {event.index} does not come after {self._index}"
                raise self._error(f"{problem}; each event has its own, and they rise")
            self._index = event.index
        if event.time is not None and event.time < self._time:
            problem = f"time runs backwards from {self._time} to {event.time}"
            if self._time - event.time > SLACK:
                raise self._error(problem)
            if not self.notices:
                self.notices.append(f"{self._name}:{event.line}: {problem}; the order of events counts")
        self._time = max(self._time, event.time or 0)

    def _invoke(self, place: int, event: Event) -> None:
        process = event.process
        if process in self._ended:
            problem = f"process {process} ended in info at {cited(self._ended[process])} and is used again"
            raise self._error(f"{problem}; after an info a client continues under a new process number")
        if process in self._open:
            since = self.calls[self._open[process]].lines[0]
            problem = f"process {process} has an operation open since {cited(since)}"
            raise self._error(f"{problem}; a process does one thing at a time")
        self._open[process] = len(self.calls)
        self.calls.append(
            Call(
                process=process,
                f=event.f,
                asked=event.value,
                key=event.key,
                called=place,
                times=(event.time, None),
                lines=(event.line,),
            )
        )

    def _complete(self, place: int, event: Event) -> None:
        if event.process not in self._open:
            raise self._error(
                f"process {event.process} has no operation open: this {event.type} of {event.f} has no invoke"
            )
        index = self._open.pop(event.process)
        call = self.calls[index]
        if event.type == "info":
            self._ended[event.process] = event.line
        self._check_repeats(event, call)
        outcome = Outcome(event.type)
        self.calls[index] = replace(
            call,
            answered=event.value if outcome is Outcome.OK else NO_VALUE,
            outcome=outcome,
            refused=event.refused,
            seen=event.seen,
            completed=place,
            times=(call.times[0], event.time),
            lines=(*call.lines, event.line),
        )

    def _check_repeats(self, event: Event, call: Call) -> None:
        invoke = cited(call.lines[0])
        if event.f != call.f:
            raise self._error(f"{event.type} of {event.f}, but {invoke} invoked {call.f}")
        if event.key != call.key:
            raise self._error(f"key {written(event.key)}, but {invoke} invoked it with {written(call.key)}")
        if event.type == "ok" and event.f in REPEATS and event.value != call.asked:
            raise self._error(
                f"{event.f} of {written(event.value)}, but {invoke} invoked it with {written(call.asked)}"
            )

    def _error(self, problem: str) -> HistoryError:
        return HistoryError(self._name, self._line, problem)
