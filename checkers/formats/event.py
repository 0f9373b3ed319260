"""The parts of every foreign history: events, and the calls that they form."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, get_args

from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome

NEMESIS = "nemesis"
EventType = Literal["invoke", "ok", "fail", "info"]
TYPES: tuple[EventType, ...] = get_args(EventType)
_SHOWN = 120  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a client: a request, or its outcome."""

    line: int  # from 1
    process: int
    type: EventType
    f: str
    value: Hashable = None
    key: Hashable = None  # the object, if the file names it separately from the value
    time: int | None = None  # ns
    index: int | None = None
    refused: bool = False  # a cas failed because it found another value than it expected
    seen: Hashable = NO_VALUE  # what a refused cas found instead


def type_named(said: str) -> EventType:
    """Return the type of an event; ValueError if there is no such type."""
    for known in TYPES:
        if said == known:
            return known
    raise ValueError(f"type is {said[:_SHOWN]!r}; it is one of {', '.join(TYPES)}")


def is_bystander(process: str, kind: object) -> bool:
    """Does an event whose process is a word, not a number, belong to no client?

    Events of the nemesis and remarks do not. Anything else is a client that could not be
    judged, and without its operations a correct history could look wrong.
    """
    return process == NEMESIS or kind == "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An event of a process that is not a client, such as the nemesis: never judged, but it has its place."""

    line: int
    time: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation: its request and its answer.

    `called` and `returned` are positions in the order of events: an operation
    precedes another iff its return comes before the other's call.
    """

    process: int
    f: str
    asked: Hashable
    answered: Hashable = NO_VALUE  # the value of an ok
    outcome: Outcome = Outcome.INFO
    key: Hashable = None
    refused: bool = False  # it failed because it found another value than it expected
    seen: Hashable = NO_VALUE  # what a refused cas found instead
    called: int
    completed: int | None = None  # None if there was no answer
    times: tuple[int | None, int | None] = (None, None)  # ns; of the events, if recorded
    lines: tuple[int, ...]  # the invoke's, then the completion's

    @property
    def returned(self) -> int | None:
        """The position of the end; an info has none."""
        return None if self.outcome is Outcome.INFO else self.completed


class CallError(ValueError):
    """A call has a value that cannot be judged, or that a format cannot express."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A history recorded by another tool."""

    name: str  # the file, as messages name it
    calls: tuple[Call, ...]  # in the order of their invokes
    notices: tuple[str, ...] = ()  # such as a half-written last line that was dropped
    leased: bool = False  # a hold of a lock may end without a release
    is_ours: bool = False  # locks and the values they protect are in one file, under the same names
