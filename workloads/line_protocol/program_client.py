"""Requests to a program, matched to answers by id, however late an answer comes.

Silence, an invalid line and the end of the program all leave the outcome Unknown. The
program is then asked to drop its connections. If it does not answer that either, it is
killed and restarted, so that no request in flight can be mistaken for a later one.

A program may also report something while no request is outstanding. `listen` reads that
when it is said; what is wrong with it makes the outcome of the next request Unknown.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from checkers.history.records import ENDED, UNUSABLE
from checkers.text import limits
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.messages import (
    PROTOCOL,
    ProgramLine,
    RenewedEvent,
    StartResult,
    convert_fields,
    parse_line,
    truncated,
)
from workloads.line_protocol.outcomes import settled
from workloads.line_protocol.pipe import POLL, Closed, Deadline, LinePipe, NoAnswer
from workloads.settings import LockSettings, StorageSettings

STARTING = 30.0  # seconds; JVMs are slow when many start at once
MOST_OUTPUT = 256 * limits.MIB  # bytes of one client's programs, without the commits that they report
GRACE = 1.0  # seconds beyond the timeout that the program knows
BOTH_SIDES = frozenset(("lock", "storage"))
KEPT_OPEN = "and a child process of it keeps its standard output open"
STOP = 0  # the id of the request "stop", which may be sent while another one is outstanding
NEVER = Deadline(math.inf)
EVENTS = frozenset(("commit", "granted", "renewed", "sent"))

Event = Callable[[str, Mapping[str, Any]], None]
Fields = Mapping[str, Any]


class ProgramError(Exception):
    """The program cannot be used; the message is one sentence that says why."""


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

    def terminate(self) -> None:
        """Send it SIGTERM."""

    def close_input(self) -> None:
        """Close its standard input."""


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
        self._unanswered: set[int] = set()
        self._output = 0  # bytes
        self._using = threading.RLock()
        self._restarting = threading.Lock()
        self._is_closed = False
        self._unheard: Exception | None = None  # what was wrong between two requests
        self.repeated: Callable[[str], None] = _refuse_repeated
        """Called with a second answer to one request."""
        self.renewed: Callable[[RenewedEvent], None] = lambda _renewed: None
        self.versions: Mapping[str, str] = {}  # that the program named at its start
        self.knows_stop = self.knows_reenter = False
        self._is_stopping = False  # it is not restarted any more
        self._stopped: queue.SimpleQueue[tuple[ProgramLine, Fields]] = queue.SimpleQueue()
        self.events: set[str] = set()  # the kinds of events that the program has sent
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
        with self._using:
            return self._request(op, Deadline((within or self._timeout) + GRACE), event, fields)

    def _request(self, op: str, deadline: Deadline, event: Event, fields: Fields) -> Fields:
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
        return settled(op, answer, carried)

    @property
    def has_ended(self) -> bool:
        """Has the program ended?"""
        return self._program.has_ended

    def send_line(self, line: bytes) -> None:
        """Send any line, which gets no answer."""
        self._pipe.send(line, Deadline(self._timeout))

    def resume(self) -> None:
        """Resume a program that waits in the middle of the outstanding request."""
        self.send_line(msgspec.json.encode({"id": self._requests, "op": "go-on"}))

    def stop(self, resource: str | None, owner: str | None, deadline: Deadline = NEVER) -> None:
        """Ask the program to release a lock (None: it holds none) and end, and wait for its answer.

        Another request may be outstanding, in another thread. The program has as long for its answer as it
        lives, unless there is a deadline. Raises NotApplied or Unknown.
        """
        request = {"id": STOP, "op": "stop", "resource": resource, "owner": owner}
        with self._restarting:
            self._is_stopping = True
            self._pipe.send_beside(msgspec.json.encode(request), Deadline(self._timeout))
        while True:
            has_ended = self._program.has_ended
            with suppress(queue.Empty):  # what it said last may not have been read yet
                settled("stop", *self._stopped.get(timeout=GRACE if has_ended else self._next_poll(deadline)))
                return
            if has_ended:
                raise Unknown(f"the program {self._program.ending()}")
            if self._unheard is not None and not isinstance(self._unheard, Closed):
                raise Unknown(str(self._unheard))  # nothing more is read

    def _next_poll(self, deadline: Deadline) -> float:
        """Return how long to wait for the listening thread; in the end, raise what was wrong with a line."""
        try:
            return deadline.next_poll()
        except NoAnswer:
            raise self._unheard or NoAnswer() from None

    def leave(self, deadline: Deadline = NEVER) -> None:
        """Let the program end by itself, by SIGTERM, unless it was asked to stop; NoAnswer if it does not."""
        with self._using:
            if self._is_stopping:
                self._program.close_input()
            else:
                self._is_stopping = True
                self._program.terminate()
        while not self._program.has_ended:
            time.sleep(deadline.next_poll())

    def reconnect(self, side: str) -> bool:
        """Ask the program to drop its connections to the lock or the storage; True if it was restarted."""
        with self._using:
            try:
                self.request("reconnect", side=side)
            except (NotApplied, Unknown):
                with self._restarting:
                    if self._is_stopping:
                        return False
                    self._program.end()
                    self._begin()
                    return True
            return False

    def listen(self) -> None:
        """From now on, read what the program says between two requests, in a thread."""
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """End the program."""
        with self._using:
            self._is_closed = True
            self._program.end()

    def _listen(self) -> None:
        while not self._is_closed:
            if self._unheard is not None or not self._pipe.has_input(POLL):
                time.sleep(POLL * (self._unheard is not None))
                continue
            with self._using:
                self._hear()

    def _hear(self) -> None:
        if self._is_closed or self._unheard is not None:
            return
        try:
            self._read_pending(Deadline(self._timeout + GRACE))
        except (ProgramError, Unknown) as error:
            self._unheard = error

    def _begin(self) -> None:
        """Start a program; ProgramError if it does not become ready."""
        self._program = self._start()
        self._unheard = None
        self._unanswered.clear()
        self._pipe = LinePipe(self._program.reading, self._program.writing)
        try:
            started = self.request("start", within=STARTING, **self._start_fields)
            result = convert_fields(StartResult, started)
            self.versions, self.knows_stop = result.versions, result.stop
            self.knows_reenter = result.reenter
        except (NotApplied, Unknown) as error:
            how = self._program.ending()
            self._program.end()
            raise ProgramError(f"did not become ready: {error}; it {how}") from error
        except ProgramError:
            self._program.end()
            raise

    def _exchange(
        self, op: str, fields: Fields, event: Event, deadline: Deadline
    ) -> tuple[ProgramLine, Fields]:
        if unheard := self._unheard:
            self._unheard = None
            raise unheard
        self._read_pending(deadline)
        self._requests += 1
        self._unanswered.add(self._requests)
        request = {"id": self._requests, "op": op, **fields}
        self._pipe.send(msgspec.json.encode(request), deadline)
        while True:
            said, early = self._pipe.receive(deadline)
            line, carried = self._read(said, early=early)
            if line.id != self._requests:
                continue
            if line.event is None:
                return line, carried
            event(line.event, carried)

    def _read_pending(self, deadline: Deadline) -> None:
        for said in self._pipe.pending(deadline):
            self._read(said, early=False)

    def _read(self, said: bytes, *, early: bool) -> tuple[ProgramLine, Fields]:
        """Read a line; Unknown if it does not answer a request sent before the line began.

        A line for an earlier request is late: its caller has given up.
        """
        line, carried = parse_line(said)
        if line.event != "commit":
            self._count(said)
        if line.event is not None:
            self.events.add(line.event)
        if line.event == "renewed":
            self.renewed(convert_fields(RenewedEvent, carried))
            return ProgramLine(), carried
        if line.event == "granted" and line.id is None:
            return ProgramLine() if early else ProgramLine(id=self._requests, event=line.event), carried
        if line.event is not None and line.event not in EVENTS:
            raise Unknown(f"{UNUSABLE}{truncated(said)}, and there is no such event")
        if line.id is None:
            raise Unknown(f"{UNUSABLE}{truncated(said)}, without the `id` of the request that it answers")
        if line.id > self._requests:
            raise Unknown(f"{UNUSABLE}{truncated(said)}, and no request with that id was made")
        if early and line.id == self._requests:
            made = "before that request was made, or before the go-on that it had asked for"
            raise Unknown(f"{UNUSABLE}{truncated(said)} {made}")
        if line.event is None and line.id >= 0:
            self._answered(line.id, (line, carried), said)
        return line, carried

    def _answered(self, request: int, answer: tuple[ProgramLine, Fields], said: bytes) -> None:
        if request == STOP and self._is_stopping:
            self._stopped.put(answer)
        elif request in self._unanswered:
            self._unanswered.remove(request)
        else:
            self.repeated(truncated(said))

    def _count(self, said: bytes) -> None:
        """Limit what a program can make us record: ProgramError."""
        self._output += len(said)
        if self._output > MOST_OUTPUT:
            raise ProgramError(f"it wrote more than {limits.described(MOST_OUTPUT)} to standard output")


def _refuse_repeated(said: str) -> None:
    raise Unknown(f"{UNUSABLE}{said}, a second answer to one request")
