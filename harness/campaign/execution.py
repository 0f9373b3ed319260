"""One run of a campaign, in a separate process: `fencepost run` with a target file and a seed.

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
    not_judged: str = ""  # of a shard: why its history cannot be judged again
    differences: str = ""  # of a shard: from what its verdict was there


Make = Callable[[Order, Path], tuple[int, bytes]]
"""Makes a run, which prints its messages into a file; returns its exit code and its document."""


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


def alone(order: Order, log: Path) -> tuple[int, bytes]:
    """Make a run in a process of its own."""
    run = ["run", "--format", "json", "--engine", order.engine]
    run += ["--seed", str(order.job.seed), "--runs", str(order.runs), str(order.target)]
    process = started(run, log)
    with making(process, order.night):
        printed, _ = process.communicate()
    return process.returncode, printed


def execute(order: Order, make: Make = alone) -> Finished:
    """Make a run and wait for its end. An interruption of this process ends the run as well."""
    when, began = datetime.now(UTC), time.monotonic()
    log = order.night / LOGS / f"{order.job.id}.log"
    exit_code, printed = make(order, log)
    verdict = _verdict(printed)
    return Finished(
        job=order.job,
        exit_code=exit_code,
        started=when.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 3),
        folder=str(Path(verdict["history"]).parent.relative_to(order.night)) if verdict else None,
        verdict=verdict,
        message="" if verdict else _last_words(log),
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
    """End a campaign's runs in this process as Ctrl-C does, each once.

    Each judges what it has, and stops its servers.
    """
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


def _verdict(printed: bytes) -> dict[str, Any] | None:
    """Read the one document that a run prints."""
    lines = printed.splitlines()
    try:
        document = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _last_words(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").strip()
    return text[-LAST_WORDS:]
