"""What a run left behind: operations, faults, the storage's own order of writes."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

Element = str | int
"""What an append adds to a list: a string or a 64-bit integer, each appended once in a run."""

List = tuple[Element, ...]
"""What is appended to, as it stood at some moment."""

Value = Element | None | List
"""What a resource holds: a string, a 64-bit integer or null, each written once in a run, or a list."""

WRITES = ("write", "append")
"""The operations that store a value: an append is a write of the list that it wrote."""

Policy = Literal["strict", "inclusive"]
"""What a fence lets through: strict, `token > mark`; inclusive, `token >= mark`."""


DEFAULT_REQUIRE = {"stale_writes_attempted": 1}
"""What a run must have counted at the least, unless its header says otherwise: the fence was challenged."""

DEFAULT_GRACE = 10_000_000_000  # ns
"""How long past the last lease a lock may be without a holder before it counts as stuck."""


class Outcome(enum.StrEnum):
    """What the client may conclude about the effect of an operation."""

    OK = "ok"  # it took effect
    FAIL = "fail"  # it did not, and never will
    INFO = "info"  # it may have, or may yet: treat it as open for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation: a call, and what came back.

    The interval `[called, returned]` is closed, so an operation that returns
    at 10 is concurrent with one that is called at 10.
    """

    index: int  # position in History.operations
    process: int
    f: str  # acquire renew release revoke write append fence read
    resource: str
    called: int  # ns
    returned: int | None = None  # ns; None when the outcome is INFO
    outcome: Outcome = Outcome.INFO
    owner: str | None = None
    token: int | None = None  # of a write: None if it carried none
    value: Value = None  # written or read; an append's is the list it wrote, None while nobody knows it
    element: Element | None = None  # what an append adds
    seen: List | None = None  # the list that an append read; None if nobody knows it
    ttl: int | None = None  # ns; ok: what was promised, otherwise what was asked for
    attempt: int | None = None  # ns; when the request that was granted was sent
    error: str | None = None
    learned: int | None = None  # ns; when the client saw the outcome, INFO included; None if never
    lines: tuple[int, ...] = ()  # the history file's lines: the invoke's, then the completion's

    def precedes(self, other: Op) -> bool:
        """Did this operation finish before `other` began?"""
        return self.returned is not None and self.returned < other.called

    @property
    def sent(self) -> int:
        """When the request that was answered left at the earliest, in ns."""
        return self.called if self.attempt is None else self.attempt


_SETTERS = tuple(getattr(Op, each.name).__set__ for each in fields(Op))


def op_of(values: Iterable[object]) -> Op:
    """An operation from the values of all fields in their order; the constructor takes twice as long."""
    op = object.__new__(Op)
    for setter, value in zip(_SETTERS, values, strict=True):
        setter(op, value)
    return op


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent:
    """What the nemesis saw: a fault in force, or healed."""

    time: int  # ns
    kind: str  # pause partition …
    target: str  # client:0 …
    state: Literal["in force", "healed"]
    evidence: str
    owner: str | None = None  # the hold that was hit, where there was one
    resource: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a history: what the run was, and what it is judged by."""

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
    grace: int = DEFAULT_GRACE  # ns; what a lock service may take to notice that a lease is over


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
        """Does the file end in the middle of a line, so that more may have been done than it has?"""
        return bool(self.notices)
