"""The types of the recorded lines: one definition gives the parser and the schema.

Unknown fields are ignored, so that files from newer recorders can be read.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from checkers.history.records import DEFAULT_GRACE, FaultEvent, Header
from checkers.vocabulary.fault_kinds import FaultKind, KindName
from checkers.vocabulary.hazards import HazardTable

_INT64 = 2**63 - 1
Nanoseconds = Annotated[int, Meta(ge=0, le=_INT64)]
Token = Annotated[int, Meta(ge=0, le=_INT64)]
Mark = Annotated[int, Meta(ge=-1, le=_INT64)]  # -1 is below every token, also a first token of 0
Count = Annotated[int, Meta(ge=0, le=_INT64)]
Process = Annotated[int, Meta(ge=0, le=_INT64)]
WireElement = str | Annotated[int, Meta(ge=-_INT64, le=_INT64)]
WireValue = WireElement | None
WireList = tuple[WireElement, ...]
WireContent = WireValue | WireList  # what a resource holds: a value, or a list that is appended to
EventType = Literal["invoke", "ok", "fail", "info"]


class Initial(Struct, frozen=True, kw_only=True):
    """The value and token of each resource before the run."""

    value: WireContent = None
    token: Mark = 0


class HeaderLine(Struct, frozen=True, kw_only=True):
    """The first line of history.jsonl: the run, and the rules by which it is judged.

    `no_faults`: the run was without the target's faults. `faults` has the words for kinds of faults that
    not every reader knows. `hazards` has the dangerous moments that the target's faults can produce.
    """

    fencepost: Literal[1]
    target: str
    seed: int | None = None
    fenced: bool = True
    policy: Literal["strict", "inclusive"] = "strict"
    ttl: Nanoseconds | None = None
    initial: Initial = Initial()
    expect: Literal["valid"] | list[str] = "valid"
    may: list[str] = []
    require: dict[str, Count] | None = None
    clients: Annotated[int, Meta(ge=1, le=_INT64)] | None = None
    fence_on_acquire: bool = False
    grace: Nanoseconds = DEFAULT_GRACE
    no_faults: bool = False
    faults: dict[KindName, FaultKind] = {}
    hazards: HazardTable | None = None


class Acquire(Struct, frozen=True, kw_only=True, tag_field="f", tag="acquire"):
    """A request for the lock; ok carries the granted token, or null if the lock gives none."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    owner: str
    token: Token | UnsetType | None = UNSET
    ttl: Nanoseconds | None = None
    attempt: Nanoseconds | None = None
    error: str | None = None


class Renew(Struct, frozen=True, kw_only=True, tag_field="f", tag="renew"):
    """A request to keep the lease; fail means that it is lost."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    owner: str
    ttl: Nanoseconds | None = None
    error: str | None = None


class Release(Struct, frozen=True, kw_only=True, tag_field="f", tag="release"):
    """The end of a hold, whatever the service answers."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    owner: str
    error: str | None = None


class Revoke(Struct, frozen=True, kw_only=True, tag_field="f", tag="revoke"):
    """The end of a hold that may never have begun, because its acquire ended in info."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    owner: str
    error: str | None = None


class Write(Struct, frozen=True, kw_only=True, tag_field="f", tag="write"):
    """A write of a value that is unique in the run; `error` is "stale" if a fence refused it.

    A write without a token bypassed the fence; if the lock gives none, `owner` names its hold instead.
    """

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    token: Token | None = None
    owner: str | None = None
    value: WireValue
    error: str | None = None


class Append(Struct, frozen=True, kw_only=True, tag_field="f", tag="append"):
    """A list is read, and written back with one more element at its end; the element is unique in the run.

    ok carries both lists; other outcomes carry the lists that are known. `owner` is as in a write.
    """

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    token: Token | None = None
    owner: str | None = None
    element: WireElement
    read: WireList | None = None
    written: WireList | None = None
    error: str | None = None


class Fence(Struct, frozen=True, kw_only=True, tag_field="f", tag="fence"):
    """A request to raise the storage's mark to a token without writing."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    token: Token
    error: str | None = None


class Read(Struct, frozen=True, kw_only=True, tag_field="f", tag="read"):
    """A read; ok carries the value and the token of the last accepted write.

    The token is null if the storage does not report it.
    """

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    token: Mark | UnsetType | None = UNSET
    value: WireContent | UnsetType = UNSET
    error: str | None = None


class Submit(Struct, frozen=True, kw_only=True, tag_field="f", tag="submit"):
    """A job is handed to a queue, with when it may begin; each job is submitted once in a run."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    job: str
    due: Nanoseconds
    error: str | None = None


class Take(Struct, frozen=True, kw_only=True, tag_field="f", tag="take"):
    """An idle worker asks for work; ok carries the job that it got, fail means that it stops asking."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    job: str | None = None
    error: str | None = None


class Execute(Struct, frozen=True, kw_only=True, tag_field="f", tag="execute"):
    """A worker executes a job; ok means that the queue acknowledged its end.

    `owner` names the execution. `token` is the number of the attempt, null if the queue gives none.
    `ended`: when the program reported its end, or its process was seen to be dead.
    """

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    job: str
    owner: str
    token: Token | None = None
    ended: Nanoseconds | None = None
    error: str | None = None


class Heartbeat(Struct, frozen=True, kw_only=True, tag_field="f", tag="heartbeat"):
    """A sign of an execution that is in progress; ok means that its program was executing at the call."""

    time: Nanoseconds
    process: Process
    type: EventType
    resource: str
    owner: str
    error: str | None = None


PlainLine = Acquire | Renew | Release | Revoke | Write | Fence | Read
ClientLine = PlainLine | Append | Submit | Take | Execute | Heartbeat


class FaultState(Struct, frozen=True, kw_only=True):
    """The observed state of a fault, and its target; `owner` and `resource` name the hold that it hit.

    `at`: the stop point where the client had stopped itself, if it had.
    `left_behind`: the clients that still reach the old primary after a failover.
    `was_killed`: a client that was stopped in order did not end within its grace.
    """

    target: str
    state: Literal["in force", "healed"]
    evidence: str = ""
    owner: str | None = None
    resource: str | None = None
    at: str | None = None
    left_behind: list[int] = []
    was_killed: bool = False


class FaultLine(Struct, frozen=True, kw_only=True):
    """A line of the nemesis: a fault seen in force, or seen healed."""

    time: Nanoseconds
    process: Literal["nemesis"]
    type: Literal["info"]
    f: KindName
    value: FaultState


class _Process(Struct):
    process: int | str


FAULT_DECODER = msgspec.json.Decoder(FaultLine)
FAULT_SIGN = b'"nemesis"'  # a part of every line of the nemesis, and of hardly any other line


def is_fault(line: bytes) -> bool:
    """Is it a line of the nemesis? Its process decides, since another string may look the same."""
    if FAULT_SIGN not in line:
        return False
    try:
        return msgspec.json.decode(line, type=_Process).process == "nemesis"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return False  # the decoder of a client's line reports the error


def fault_event(line: int, event: FaultLine, header: Header) -> FaultEvent:
    """Return the event of a line of the nemesis, in a history with this header."""
    seen = msgspec.structs.asdict(event.value) | {"left_behind": tuple(event.value.left_behind)}
    return FaultEvent(**seen, time=event.time, kind=event.f, words=header.faults.get(event.f), line=line)


class CommitLine(Struct, frozen=True, kw_only=True):
    """A line of commits.jsonl: one accepted write or fence, in the storage's own order.

    A write has a value; a fence has `"fence": true`, a token and no value.
    """

    seq: Count
    resource: str
    token: Token | None = None
    value: WireContent | UnsetType = UNSET
    fence: bool = False

    def __post_init__(self) -> None:
        """Refuse a write without a value, and a fence with a value or without a token."""
        if not self.fence:
            if self.value is UNSET:
                raise ValueError("Object missing required field `value`")
            return
        if self.token is None:
            raise ValueError("a fence needs a `token`")
        if self.value is not UNSET and self.value is not None:
            raise ValueError("a fence stores no value, so it has no `value`")
