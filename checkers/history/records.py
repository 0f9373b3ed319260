"""The record of a run: operations, faults, and the storage's own order of writes."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from checkers.vocabulary.fault_kinds import FaultKind
from checkers.vocabulary.hazards import HazardTable

Element = str | int
"""The element that an append adds to a list: a string or a 64-bit integer, each appended once in a run."""

List = tuple[Element, ...]
"""The state of a list that is appended to."""

Value = Element | None | List
"""The value of a resource: a string, a 64-bit integer or null, each written once in a run, or a list."""

WRITES = ("write", "append")
"""The operations that store a value: an append is a write of the list that it wrote."""

Policy = Literal["strict", "inclusive"]
"""The tokens that a fence accepts: strict, `token > mark`; inclusive, `token >= mark`."""


UNUSABLE = "the program said "
"""The beginning of an operation's error if a user's program gave it an answer outside the protocol."""
ENDED = "the program ended"
"""The beginning of an operation's error if a user's program ended before it answered."""
RAISED = "raised "
"""The beginning of an operation's error if a user's code raised one of Python's own exceptions."""
DEFAULT_REQUIRE = {"stale_writes_attempted": 1}
"""The minimum counts of a run, unless its header has others: the fence must be challenged."""

DEFAULT_GRACE = 10_000_000_000  # ns
"""How long after the last lease a lock may have no holder before it counts as stuck."""


class Outcome(enum.StrEnum):
    """What the client may conclude about the effect of an operation."""

    OK = "ok"  # it took effect
    FAIL = "fail"  # it did not, and never will
    INFO = "info"  # it may have, or may yet: treat it as open for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation: a call, and its result.

    The interval `[called, returned]` is closed, so an operation that returns
    at 10 is concurrent with one called at 10.
    """

    index: int  # position in History.operations
    process: int
    f: str  # acquire renew release revoke write append fence read submit take execute heartbeat
    resource: str
    called: int  # ns
    returned: int | None = None  # ns; None when the outcome is INFO
    outcome: Outcome = Outcome.INFO
    owner: str | None = None
    token: int | None = None  # for a write, None if it carried none; for an execution, its attempt
    value: Value = None  # written or read; for an append, the list it wrote, None if unknown
    element: Element | None = None  # what an append adds
    seen: List | None = None  # the list that an append read; None if unknown
    ttl: int | None = None  # ns; granted if the outcome is OK, otherwise requested
    attempt: int | None = None  # ns; when the request that was granted was sent
    job: str | None = None  # one occurrence of it; for a take, the one that the worker got
    due: int | None = None  # ns; when a submitted job may begin
    ended: int | None = None  # ns; when an execution was seen to be over
    error: str | None = None
    learned: int | None = None  # ns; when the client saw the outcome, INFO included; None if never
    lines: tuple[int, ...] = ()  # the history file's lines: the invoke's, then the completion's

    def precedes(self, other: Op) -> bool:
        """Did this operation finish before `other` began?"""
        return self.returned is not None and self.returned < other.called

    @property
    def over(self) -> float:
        """When it returned, in ns; infinity if it never did."""
        return math.inf if self.returned is None else self.returned

    @property
    def sent(self) -> int:
        """The earliest time at which the answered request was sent, in ns."""
        return self.called if self.attempt is None else self.attempt


_SETTERS = tuple(getattr(Op, each.name).__set__ for each in fields(Op))


def op_of(values: Iterable[object]) -> Op:
    """Return an operation from the values of all fields in order; the constructor takes twice as long."""
    op = object.__new__(Op)
    for setter, value in zip(_SETTERS, values, strict=True):
        setter(op, value)
    return op


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent:
    """An observation of the nemesis: a fault in force, or healed."""

    time: int  # ns
    kind: str  # pause partition …
    target: str  # client:0 …
    state: Literal["in force", "healed"]
    evidence: str
    owner: str | None = None  # of the hold that was hit, if there was one
    resource: str | None = None
    at: str | None = None  # the stop point at which the client had stopped itself
    left_behind: tuple[int, ...] = ()  # the clients that still reach the old primary
    was_killed: bool = False  # did a client that was stopped not end within its grace?
    words: FaultKind | None = None  # of a kind that only the header knows
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a history: the run, and the rules by which it is judged."""

    target: str
    seed: int | None = None
    fenced: bool = True
    policy: Policy = "strict"
    ttl: int | None = None  # ns
    initial_value: Value = None
    initial_token: int = 0
    expect: tuple[str, ...] = ()  # anomalies that must be found; empty: "valid"
    may: tuple[str, ...] = ()
    require: dict[str, int] = field(default_factory=DEFAULT_REQUIRE.copy)
    clients: int | None = None  # client c runs under the process numbers p with p % clients == c
    fence_on_acquire: bool = False  # a new holder raises the storage's mark before it reads
    grace: int = DEFAULT_GRACE  # ns; the time a lock service may take to notice that a lease is over
    no_faults: bool = False  # it was run without the target's faults
    faults: Mapping[str, FaultKind] = field(default_factory=dict)  # kinds that the table of kinds lacks
    hazards: HazardTable | None = None  # the hazards that the target's faults can produce


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One accepted write or fence, in the storage's own order."""

    seq: int
    resource: str
    token: int | None
    value: Value = None
    fence: bool = False  # it raised the mark to its token, and stored no value
    line: int = 0
    file: str = "commits.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything the clients of one run did, in the order of their calls."""

    header: Header
    operations: Sequence[Op]
    faults: tuple[FaultEvent, ...] = ()
    notices: tuple[str, ...] = ()  # a half-written last line that was left out
    started: int = 0  # ns; the time of the first event

    @property
    def is_cut_short(self) -> bool:
        """Does the file end in the middle of a line, so that operations may be missing?"""
        return bool(self.notices)
