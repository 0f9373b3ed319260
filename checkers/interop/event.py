"""What any foreign history is made of: events, and from them calls."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, get_args

from checkers.history.records import Outcome
from checkers.linearizability.operation import UNKNOWN

NEMESIS = "nemesis"
EventType = Literal["invoke", "ok", "fail", "info"]
TYPES: tuple[EventType, ...] = get_args(EventType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a client: it asks for something, or is told what came of it."""

    line: int  # from 1
    process: int
    type: EventType
    f: str
    value: Hashable = None
    key: Hashable = None  # the object, where the file names it apart from the value
    time: int | None = None  # ns
    index: int | None = None
    refused: bool = False  # a cas failed because it found another value than it expected
    seen: Hashable = UNKNOWN  # what a refused cas found instead


def is_bystander(process: str, kind: object) -> bool:
    """Is an event nobody's operation, whose process is a word and no number?

    The nemesis' are none, and neither are remarks. What else has a word for its process is a
    client that could not be judged, and leaving it out could make a right history wrong.
    """
    return process == NEMESIS or kind == "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An event of somebody who is no client, such as the nemesis: kept, never judged."""

    line: int
    process: str
    text: str
    time: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation: what was asked and answered.

    `called` and `returned` are places in the order of events: an operation
    precedes another iff it returned at a lower place than the other's call.
    """

    process: int
    f: str
    asked: Hashable
    answered: Hashable = UNKNOWN  # what an ok said
    outcome: Outcome = Outcome.INFO
    key: Hashable = None
    refused: bool = False  # it failed because it found another value than it expected
    seen: Hashable = UNKNOWN  # what a refused cas found instead
    called: int
    completed: int | None = None  # None if nothing was ever told
    times: tuple[int | None, int | None] = (None, None)  # ns; of the events, where the file has them
    lines: tuple[int, ...]  # of the invoke, then of the completion

    @property
    def returned(self) -> int | None:
        """Where it ended; an info, though told, has no end."""
        return None if self.outcome is Outcome.INFO else self.completed


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A history that another tool recorded."""

    name: str  # the file, as messages name it
    calls: tuple[Call, ...]  # in the order of their invokes
    notes: tuple[Note, ...] = ()
    notices: tuple[str, ...] = ()  # such as a half-written last line that was left out
    leased: bool = False  # a hold of a lock may end by itself
    is_ours: bool = False  # locks and what they protect stand in one file, under the same names
