"""One run of a campaign, in a separate process: a target file with a seed; and who makes it.

Runs share nothing but the machine, so an executor of any kind can make them: threads here, or
workers elsewhere. What a run needs, and what it returns, can be pickled.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from harness.campaign.schedule import Job
from harness.core.exit_codes import ExitCode
from harness.files import received
from harness.processes import die_with_parent

TARGETS = "targets"
RUNS = "runs"
LOGS = "logs"
LAST_WORDS = 1 << 14  # characters of a failed run's messages that are kept: an error with its log lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A run to make."""

    job: Job
    night: Path  # the folder of the campaign
    engine: str

    @property
    def target(self) -> Path:
        """The target file."""
        return self.night / TARGETS / f"{self.job.cell}.toml"

    @property
    def runs(self) -> Path:
        """The folder for the run's folder."""
        return self.night / RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that has ended."""

    job: Job
    exit_code: int
    started: str  # ISO 8601, UTC
    seconds: float
    folder: str | None  # relative to the campaign's; None: it failed before it was judged
    verdict: dict[str, Any] | None  # verdict.json; None: an infrastructure failure or a wrong target
    message: str = ""  # what it printed last, if there is no verdict
    error: str = ""  # the sentence of its error; "": it has a verdict, or could not tell
    not_judged: str = ""  # of a shard: why its history cannot be judged again
    differences: str = ""  # of a shard: from what its verdict was there


class RunReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a run says of it."""

    code: int
    error: str = ""  # the sentence of its error
    verdict: dict[str, Any] | None = None


Make = Callable[[Order, Path], RunReply]
"""Makes a run, which prints its messages into a file."""


@contextmanager
def messages_in(log: Path) -> Iterator[BinaryIO]:
    """Open a log of a night for messages, in place of an earlier one; no link in the night is followed.

    Raises ConfigurationError or HistoryError if something else is there: the night may come from a stranger.
    """
    night, names = log.parents[1], (log.parent.name, log.name)
    received.remove(night, *names)
    with received.created(night, *names) as messages:
        yield messages


def started(
    arguments: Sequence[str], log: Path, *, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a command of Fencepost, whose messages go to a log of a night."""
    with messages_in(log) as messages:
        return subprocess.Popen(
            dies_with_us(arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=messages,
            start_new_session=True,  # we pass Ctrl-C on ourselves
        )


def request(order: Order, log: str = "") -> bytes:
    """Return the line that asks a worker for a run, whose messages go to `log`, or to the worker's own."""
    asked = {"target": str(order.target), "seed": order.job.seed, "runs": str(order.runs), "log": log}
    return json.dumps(asked).encode() + b"\n"


def answer_in(line: bytes) -> RunReply | None:
    """Return the answer in a worker's line; None in half a line, of a worker that was killed."""
    try:
        return msgspec.convert(json.loads(line), RunReply)
    except ValueError:
        return None


def alone(order: Order, log: Path) -> RunReply:
    """Make a run in a process of its own."""
    process = started(["campaign", "worker", "--engine", order.engine], log, stdin=subprocess.PIPE)
    with making(process, order.night):
        printed, _ = process.communicate(request(order))
    return answer_in(printed) or unanswered(process.returncode)


def unanswered(status: int) -> RunReply:
    """Return what counts for a process that ended without an answer: never a run that passed."""
    return RunReply(code=status or ExitCode.INFRASTRUCTURE)


def execute(order: Order, make: Make = alone) -> Finished:
    """Make a run and wait for its end. An interruption of this process ends the run as well."""
    when, began = datetime.now(UTC), time.monotonic()
    log = order.night / LOGS / f"{order.job.id}.log"
    answer = make(order, log)
    verdict = answer.verdict
    return Finished(
        job=order.job,
        exit_code=answer.code,
        started=when.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 3),
        folder=str(Path(verdict["history"]).parent.relative_to(order.night)) if verdict else None,
        verdict=verdict,
        message="" if verdict else log.read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:],
        error="" if verdict else answer.error,
    )


_RUNNING: dict[subprocess.Popen[bytes], Path] = {}
"""The runs of this process, with the folder of the campaign that each belongs to."""
_INTERRUPTED: set[subprocess.Popen[bytes]] = set()


@contextmanager
def making(process: subprocess.Popen[bytes], night: Path) -> Iterator[None]:
    """While a process makes a run of a campaign, `interrupt` ends it."""
    _RUNNING[process] = night
    try:
        yield
    finally:
        del _RUNNING[process]
        _INTERRUPTED.discard(process)


def interrupt(night: Path) -> None:
    """End a campaign's runs here as Ctrl-C does, each once: it judges what it has, and stops its servers."""
    for process, belongs_to in tuple(_RUNNING.items()):
        if belongs_to == night and process not in _INTERRUPTED:
            _INTERRUPTED.add(process)
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)


def was_interrupted(finished: Finished) -> bool:
    """Was a run interrupted, so that it has to be made again?"""
    return finished.exit_code in {ExitCode.INTERRUPTED, -signal.SIGKILL, -signal.SIGTERM} or bool(
        finished.verdict and finished.verdict.get("interrupted")
    )


def dies_with_us(arguments: Sequence[str]) -> list[str]:
    """Return a command of Fencepost that dies with this process: SIGTERM makes it stop its servers."""
    command = [sys.executable, "-m", "harness.cli", *arguments]
    return die_with_parent.wrapped(command, sign=signal.SIGTERM)


SERVERS = "servers"
"""In the folder of a night: the servers that several runs share, while they run."""

_STOPPING = 60.0  # s; containers take a few


class RunWorker:
    """Makes runs on this machine, one at a time.

    A run that shares its servers with other runs is made by a process that keeps them until the worker
    gets a run that needs others; every other run is made in a process of its own. The process ends with
    this one, however that ends, and stops its servers.
    """

    def __init__(self) -> None:
        self.servers = ""  # those that it keeps
        self._process: subprocess.Popen[bytes] | None = None

    def execute(self, order: Order) -> Finished:
        """Make a run and wait for its end."""
        self.servers = order.job.servers
        if self.servers:
            return execute(order, self._make)
        self.close()
        return execute(order)

    def close(self) -> None:
        """Stop the servers that it keeps."""
        process, self._process = self._process, None
        if process is not None:
            with process, suppress(BrokenPipeError):
                assert process.stdin is not None, "it was started with a pipe"  # noqa: S101
                process.stdin.close()
                _wait(process)

    def _make(self, order: Order, log: Path) -> RunReply:
        process = self._process = self._process or _started(order, log)
        assert process.stdin is not None, "it was started with pipes"  # noqa: S101
        assert process.stdout is not None, "it was started with pipes"  # noqa: S101
        with making(process, order.night), suppress(BrokenPipeError):
            process.stdin.write(request(order, str(log)))
            process.stdin.flush()
            if answer := answer_in(process.stdout.readline()):
                if answer.code == ExitCode.INTERRUPTED:
                    self.close()
                return answer
        self.close()
        return unanswered(process.returncode)


def _started(order: Order, log: Path) -> subprocess.Popen[bytes]:
    command = ["campaign", "worker", "--engine", order.engine, str(order.night / SERVERS)]
    return started(command, log, stdin=subprocess.PIPE)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOPPING)
    except subprocess.TimeoutExpired:  # the next command removes what it has started
        process.kill()
