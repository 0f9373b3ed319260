"""Judge the runs of shards again, several at once, each in another process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from checkers.vocabulary.document import VerdictDocument
from harness.core.errors import FencepostError
from harness.files import received
from harness.files.run_folder import EVENTS, HISTORY
from harness.processes import fork_server
from harness.run.recheck import recheck

_RUNS_PER_PROCESS = 8  # then a new one gives the memory back
MEMORY_PER_RUN = 2 << 30  # bytes; a million operations with their report take 1.3 GiB
_SLOW_TO_IMPORT = ("harness.run.recheck", "harness.report.run", "harness.report.junit")
NO_HISTORY = "its shard has no history of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """The verdict on a history, and the target and the seed that it names."""

    document: VerdictDocument
    target: str
    seed: int | None


def rejudged(folders: Sequence[Path]) -> Iterator[Rejudged | str]:
    """Judge runs, and write their verdicts and reports; a sentence for each that cannot be judged.

    One that ends its process, for want of memory for example, does not end the others.
    """
    available = psutil.virtual_memory().available // MEMORY_PER_RUN
    at_once = max(1, min(len(os.sched_getaffinity(0)), available))
    batch = at_once * _RUNS_PER_PROCESS
    for first in range(0, len(folders), batch):
        yield from _batch(folders[first : first + batch], at_once)


def _batch(folders: Sequence[Path], at_once: int) -> Iterator[Rejudged | str]:
    with _processes(min(len(folders), at_once)) as pool:
        started = [pool.submit(judge, folder) for folder in folders]
        for folder, future in zip(folders, started, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield _alone(folder)


def _alone(folder: Path) -> Rejudged | str:
    """Judge a run that was being judged, or was waiting, when a process was killed."""
    with _processes(1) as pool:
        try:
            return pool.submit(judge, folder).result()
        except BrokenProcessPool:
            return "the process that judged its history was killed, perhaps for want of memory"


@contextmanager
def _processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that die with this one; an error or Ctrl-C ends them at once."""
    pool = ProcessPoolExecutor(number, fork_server.started(_SLOW_TO_IMPORT), _begin)
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the fork server has its own handler


def judge(folder: Path) -> Rejudged | str:
    """Judge one run in this process."""
    try:
        if not received.exists(folder, HISTORY) and not received.listed(folder, EVENTS):
            return NO_HISTORY
        found = recheck(folder)
    except FencepostError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 (whatever a history is, the others are judged)
        return f"{type(error).__name__}: {error}"
    header = found.history.header
    return Rejudged(document=found.document, target=header.target, seed=header.seed)
