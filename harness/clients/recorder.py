"""Records a client's calls and answers: the kernel has each call before its request leaves."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import format_exception
from types import MappingProxyType
from typing import Any

import msgspec

from checkers.history.records import RAISED, Outcome
from checkers.text import limits
from checkers.text.printable import in_16_bits
from checkers.text.redaction import redacted
from harness.clients.shared_state import SharedProgress
from harness.core import exhaustion
from harness.files.logs import open_log
from workloads.client import Answer, outcome_of
from workloads.raised import described, is_mistake

_MOST_EXPLAINED = 20  # tracebacks of a client


class EventTooLongError(Exception):
    """An event does not fit in a line that can be read again; the message says how long it is."""


class Recorder:
    """Appends events to one file, with one write() each, so that a SIGKILL loses none.

    After a partial write, because the disk is full, nothing more is written: a reader drops
    half a line at the end of a file, but elsewhere it makes the file unreadable.
    """

    def __init__(self, path: Path, passwords: tuple[str, ...] = (), *, new: bool = True) -> None:
        """`passwords` are hidden in error messages. The file is `new`, or of an earlier process."""
        self.passwords = passwords
        self._path = path
        self._file = open_log(path, new=new)
        self._encode = msgspec.json.Encoder().encode
        self._writing = threading.Lock()
        self._failure: OSError | None = None

    def record(self, event: dict[str, Any]) -> None:
        """Append an event of history.jsonl; ResourceExhaustedError for a full disk, or EventTooLongError."""
        line = self._encode(event)
        if not line.isascii() or b"\x7f" in line:
            line = in_16_bits(line.decode()).encode()
        if len(line) >= limits.LINE:
            size = limits.described(limits.LINE)
            raise EventTooLongError(f"the answer takes {len(line):,} bytes of a line of at most {size}")
        with self._writing:
            if self._failure is None:
                self._append(line + b"\n")
            failure = self._failure
        if failure is not None:
            raise exhaustion.as_exhausted(failure, self._path) or failure

    def _append(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            self._failure = error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class RecordedSession:
    """One sequential thread of operations: implements `workloads.client.Session`.

    After an info the process number increases by `stride`, which keeps the
    numbers of all clients and their threads distinct.
    """

    def __init__(
        self,
        recorder: Recorder,
        process: int,
        stride: int,
        ended: Callable[[str, Answer], None] = lambda _f, _answer: None,
        granted: Callable[[str, str], None] = lambda _resource, _owner: None,
        leases: SharedProgress | None = None,
    ) -> None:
        self._recorder = recorder
        self._process = process
        self._stride = stride
        self._ended = ended
        self._granted = granted
        self._leases = leases
        self._explained = 0

    def call(
        self,
        f: str,
        resource: str,
        action: Callable[[], dict[str, Any]],
        known: Mapping[str, Any] = MappingProxyType({}),
        **fields: Any,
    ) -> Answer:
        """Record the call, run `action`, and record its result."""
        operation = {"f": f, "resource": resource, **fields}
        called = self._record("invoke", operation)
        if self._leases and f == "renew":
            self._leases.renewing(resource, fields["owner"])
        if self._leases and f == "release":
            self._leases.releasing()
        try:
            answer = Answer(Outcome.OK, action())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any error of a client is an outcome
            answer = Answer(outcome_of(error), {"error": redacted(_message(error), self._recorder.passwords)})
            self._explain(error)
        try:
            self._record(answer.outcome, {**operation, **known, **answer.fields})
        except EventTooLongError as error:
            answer = Answer(Outcome.INFO, {"error": str(error)})
            self._record(answer.outcome, {**operation, **answer.fields})
        if answer.outcome is Outcome.INFO:
            self._process += self._stride
            if self._leases:
                self._leases.numbered(self._process)
        if self._leases:
            self._report(self._leases, f, called, answer)
        self._ended(f, answer)
        return answer

    def _explain(self, error: BaseException) -> None:
        """Write the traceback of a mistake to the log of this process; only the first few."""
        if is_mistake(error) and self._explained < _MOST_EXPLAINED:
            self._explained += 1
            sys.stderr.write(redacted("".join(format_exception(error)), self._recorder.passwords))

    def _report(self, leases: SharedProgress, f: str, called: int, answer: Answer) -> None:
        sent = answer.fields.get("attempt") or called
        if answer.ok and f == "acquire":
            leases.granted_from(sent)
        if answer.ok and answer.fields.get("ttl") is not None:
            leases.promised(sent + answer.fields["ttl"])
        if f == "renew":
            leases.renewed()

    def granted(self, resource: str, owner: str) -> None:
        """Announce that the lock service has granted the lock, while the acquire is still open."""
        self._granted(resource, owner)

    def _record(self, kind: str, operation: dict[str, Any]) -> int:
        now = time.monotonic_ns()
        self._recorder.record({"time": now, "process": self._process, "type": kind, **operation})
        return now


def _message(error: BaseException) -> str:
    """Return the message in one line: libraries spread theirs over several. A mistake's has its place."""
    if is_mistake(error):
        return f"{RAISED}{described(error)}"
    return " ".join(str(error).split()) or type(error).__name__
