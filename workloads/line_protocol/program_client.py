"""Requests to a program, matched to answers by id, however late an answer comes.

Silence, an invalid line and the end of the program all leave the outcome Unknown. The
program is then asked to drop its connections. If it does not answer that either, it is
killed and restarted, so that no request in flight can be mistaken for a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import msgspec

from checkers.history import limits
from checkers.history.records import ENDED, UNUSABLE
from checkers.printable import quoted, shorten
from workloads.client import NotApplied, Stale, Unknown
from workloads.line_protocol.messages import (
    PROTOCOL,
    Line,
    RenewedEvent,
    StartResult,
    convert_fields,
    parse_line,
    truncated,
)
from workloads.line_protocol.pipe import Closed, Deadline, LinePipe, NoAnswer
from workloads.settings import LockSettings, StorageSettings

STARTING = 30.0  # seconds; JVMs are slow when many start at once
MOST_OUTPUT = 256 * limits.MIB  # bytes of one client's programs, without the commits that they report
GRACE = 1.0  # seconds beyond the timeout that the program knows
BOTH_SIDES = frozenset(("lock", "storage"))
KEPT_OPEN = "and a child process of it keeps its standard output open"
_FENCED = ("write", "fence")  # requests that a fence can reject

Event = Callable[[str, Mapping[str, Any]], None]
Fields = Mapping[str, Any]


def _ignored(_event: str, _fields: Fields) -> None:
    pass


class ProgramError(Exception):
    """The program cannot be used; the message is one sentence that says why."""


class Unsupported(NotApplied):
    """The program does not know this request."""

    def __init__(self) -> None:
        super().__init__("the program does not support it")


class Program(Protocol):
    """A running program."""

    @property
    def reading(self) -> int:
        """The file descriptor from which its standard output is read."""

    @property
    def writing(self) -> int:
        """The file descriptor through which its standard input is written."""

    @property
    def has_ended(self) -> bool:
        """Has it ended, whatever its child processes do?"""

    def ending(self) -> str:
        """Say how it ended, or that it is still running."""

    def end(self) -> None:
        """Kill it, with all its child processes."""


def start_fields(
    client: int | None, lock: LockSettings, storage: StorageSettings, sides: AbstractSet[str] = BOTH_SIDES
) -> Fields:
    """The fields of the first request; `client` is None for the harness' own program.

    A side that is not in `sides` is null: the program has nothing to do with it.
    """
    fields: dict[str, Any] = {
        "lock": {
            "kind": lock.kind,
            "endpoints": lock.endpoints,
            "ttl_ms": lock.ttl // 1_000_000,
            "token": lock.token,
            "password": lock.password,
        },
        "storage": {
            "kind": storage.kind,
            "endpoints": storage.endpoints,
            "fencing": storage.fencing,
            "policy": storage.policy,
            "fence_on_acquire": storage.fence_on_acquire,
            "password": storage.password,
        },
    }
    return {
        "protocol": PROTOCOL,
        "client": client,
        "run": lock.run,
        "timeout_ms": round(storage.timeout * 1000),
    } | {side: each if side in sides else None for side, each in fields.items()}


class ProgramClient:
    """A client of one program at a time, with one request outstanding."""

    def __init__(self, start: Callable[[], Program], start_fields: Fields, timeout: float) -> None:
        self._start = start
        self._start_fields = start_fields
        self._timeout = timeout  # seconds; in which the program must answer
        self._requests = 0
        self._output = 0  # bytes
        self._answered = 0  # the last request that was answered
        self.repeated: str | None = None  # an answer to a request that had been answered
        self.renewed: Callable[[RenewedEvent], None] = lambda _renewed: None
        self.versions: Mapping[str, str] = {}  # that the program named at its start
        self._begin()

    def request(
        self,
        op: str,
        *,
        within: float | None = None,
        event: Event = lambda _event, _fields: None,
        **fields: Any,
    ) -> Fields:
        """Send a request and return the fields of its ok; `event` gets the events before it.

        `within` overrides the usual timeout (seconds). Raises Stale, NotApplied or Unknown.
        """
        deadline = Deadline((within or self._timeout) + GRACE)
        try:
            answer, carried = self._exchange(op, fields, event, deadline)
        except NoAnswer:
            if self._program.has_ended:
                raise NoAnswer(f"the program {self._program.ending()}, {KEPT_OPEN}") from None
            raise
        except Closed as error:
            said = f"the program {self._program.ending()}"
            if op != "start" and said.startswith(ENDED):
                raise Unknown(said) from error
            raise
        return _settled(op, answer, carried)

    def send_line(self, line: bytes) -> None:
        """Send any line, which gets no answer."""
        self._pipe.send(line, Deadline(self._timeout))

    def resume(self) -> None:
        """Resume a program that waits in the middle of the outstanding request."""
        self.send_line(msgspec.json.encode({"id": self._requests, "op": "go-on"}))

    def reconnect(self, side: str) -> bool:
        """Ask the program to drop its connections to the lock or the storage; True if it was restarted."""
        try:
            self.request("reconnect", side=side)
        except (NotApplied, Unknown):
            self._program.end()
            self._begin()
            return True
        return False

    def close(self) -> None:
        """End the program."""
        self._program.end()

    def _begin(self) -> None:
        """Start a program; ProgramError if it does not become ready."""
        self._program = self._start()
        self._pipe = LinePipe(self._program.reading, self._program.writing)
        try:
            started = self.request("start", within=STARTING, **self._start_fields)
            self.versions = convert_fields(StartResult, started).versions
        except (NotApplied, Unknown) as error:
            how = self._program.ending()
            self._program.end()
            raise ProgramError(f"did not become ready: {error}; it {how}") from error
        except ProgramError:
            self._program.end()
            raise

    def _exchange(self, op: str, fields: Fields, event: Event, deadline: Deadline) -> tuple[Line, Fields]:
        for said in self._pipe.pending(deadline):
            self._read(said, early=False)
        self._requests += 1
        request = {"id": self._requests, "op": op, **fields}
        self._pipe.send(msgspec.json.encode(request), deadline)
        while True:
            said, early = self._pipe.receive(deadline)
            line, carried = self._read(said, early=early)
            if line.id != self._requests:
                continue
            if line.event is None:
                self._answered = self._requests
                return line, carried
            event(line.event, carried)

    def _read(self, said: bytes, *, early: bool) -> tuple[Line, Fields]:
        """Read a line; Unknown if it does not answer a request sent before the line began.

        A line for an earlier request is late: its caller has given up.
        """
        line, carried = parse_line(said)
        if line.event != "commit":
            self._count(said)
        if line.event == "renewed":
            self.renewed(convert_fields(RenewedEvent, carried))
            return Line(), carried
        if line.event == "granted" and line.id is None:
            return Line() if early else Line(id=self._requests, event=line.event), carried
        if line.id is None or line.id > self._requests:
            raise Unknown(f"{UNUSABLE}{truncated(said)}, and no request with that id was made")
        if early and line.id == self._requests:
            made = "before that request was made, or before the go-on that it had asked for"
            raise Unknown(f"{UNUSABLE}{truncated(said)} {made}")
        if line.event is None and 0 < line.id <= self._answered:
            self.repeated = truncated(said)
        return line, carried

    def _count(self, said: bytes) -> None:
        """Limit what a program can make us record: ProgramError."""
        self._output += len(said)
        if self._output > MOST_OUTPUT:
            raise ProgramError(f"it wrote more than {limits.described(MOST_OUTPUT)} to standard output")


def _settled(op: str, answer: Line, carried: Fields) -> Fields:
    match answer.outcome:
        case "ok":
            return carried
        case "stale" if op in _FENCED:
            raise Stale
        case "failed":
            raise NotApplied(f"failed: {shorten(answer.reason)}")  # so that no reason reads as "stale"
        case "unsupported":
            raise Unsupported
        case "unknown":
            raise Unknown(shorten(answer.reason) or "the program does not know")
        case None:
            raise Unknown(f"{UNUSABLE}no outcome in its answer to {op}")
    raise Unknown(f"{UNUSABLE}outcome {quoted(answer.outcome)} in its answer to {op}")
