"""Requests and answers: each answer belongs to the request whose id it has, however late it comes.

Whatever leaves a doubt is Unknown: silence, a line that is not understood, the end of the
program. After that the program is asked to drop its connections. If it does not even answer
that, it is killed and started anew: nothing that it had under way can then be taken for
something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from workloads.client import NotApplied, Stale, Unknown
from workloads.line_protocol.messages import PROTOCOL, Line, Renewed, shown, taken_as, understood
from workloads.line_protocol.pipe import LinePipe, Patience
from workloads.settings import LockSettings, StorageSettings

STARTING = 30.0  # seconds; a JVM takes its time where many start at once
GRACE = 1.0  # seconds, beyond the time in which the program was told to answer
_FENCED = ("write", "fence")  # what a fence can refuse

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
    """A program that was started."""

    @property
    def reading(self) -> int:
        """The file descriptor from which its standard output is read."""

    @property
    def writing(self) -> int:
        """The file descriptor through which its standard input is written."""

    def ending(self) -> str:
        """Say how it has ended, or that it has not."""

    def end(self) -> None:
        """Kill it, with everything that it has started."""


def introduction(client: int | None, lock: LockSettings, storage: StorageSettings) -> Fields:
    """What the first request tells; `client` is None for the harness' own program."""
    return {
        "protocol": PROTOCOL,
        "client": client,
        "timeout_ms": round(storage.timeout * 1000),
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


class Conversation:
    """Speaks to one program at a time, with one request under way."""

    def __init__(self, start: Callable[[], Program], introduction: Fields, timeout: float) -> None:
        self._start = start
        self._introduction = introduction
        self._timeout = timeout  # seconds; in which the program should answer
        self._requests = 0
        self.renewed: Callable[[Renewed], None] = lambda _renewed: None
        self._begin()

    def ask(
        self,
        op: str,
        *,
        within: float | None = None,
        event: Event = lambda _event, _fields: None,
        **fields: Any,
    ) -> Fields:
        """Send a request and return what its ok carries; `event` gets what is told of it before.

        `within` is in seconds, if it may take longer than usual. Raises Stale, NotApplied or Unknown.
        """
        patience = Patience((within or self._timeout) + GRACE)
        answer, carried = self._exchange(op, fields, event, patience)
        return _settled(op, answer, carried)

    def go_on(self) -> None:
        """Let the program go on, which waits in the middle of the request under way."""
        self._pipe.send(msgspec.json.encode({"id": self._requests, "op": "go-on"}), Patience(self._timeout))

    def reconnect(self, side: str) -> bool:
        """Have the program drop its connections to the lock or the storage; was it started anew for that?"""
        try:
            self.ask("reconnect", side=side)
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
            self.ask("start", within=STARTING, **self._introduction)
        except (NotApplied, Unknown) as error:
            how = self._program.ending()
            self._program.end()
            raise ProgramError(f"did not get ready: {error}; it {how}") from error

    def _exchange(self, op: str, fields: Fields, event: Event, patience: Patience) -> tuple[Line, Fields]:
        for said in self._pipe.waiting(patience):
            self._read(said, early=False)
        self._requests += 1
        request = {"id": self._requests, "op": op, **fields}
        self._pipe.send(msgspec.json.encode(request), patience)
        while True:
            said, early = self._pipe.receive(patience)
            line, carried = self._read(said, early=early)
            if line.id != self._requests:
                continue
            if line.event is None:
                return line, carried
            event(line.event, carried)

    def _read(self, said: bytes, *, early: bool) -> tuple[Line, Fields]:
        """Read a line; Unknown if it belongs to no request that was made before it was begun.

        One that belongs to an earlier request is late: whoever asked has given up on it.
        """
        line, carried = understood(said)
        if line.event == "renewed":
            self.renewed(taken_as(Renewed, carried))
            return Line(), carried
        if line.event == "granted" and line.id is None:
            return Line() if early else Line(id=self._requests, event=line.event), carried
        if line.id is None or line.id > self._requests:
            raise Unknown(f"the program answered a request that was not made: {shown(said)}")
        if early and line.id == self._requests:
            raise Unknown(f"the program answered a request before it was made: {shown(said)}")
        return line, carried


def _settled(op: str, answer: Line, carried: Fields) -> Fields:
    match answer.outcome:
        case "ok":
            return carried
        case "stale" if op in _FENCED:
            raise Stale
        case "failed":
            raise NotApplied(f"failed: {answer.reason}")  # so that no reason reads as "stale"
        case "unsupported":
            raise Unsupported
        case "unknown":
            raise Unknown(answer.reason or "the program does not know")
        case None:
            raise Unknown(f"the program answered {op} without an outcome")
    raise Unknown(f"the program answered {op} with outcome {answer.outcome!r}")
