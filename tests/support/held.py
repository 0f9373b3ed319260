"""Run `hold.py` in a separate process, and look for the processes of its run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from harness.processes import ownership
from tests.support.waiting import wait_for

HOLD = Path(__file__).with_name("hold.py")
TIMEOUT = 120.0  # s


@contextmanager
def running_harness(engine: str, run_id: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start one in a separate process group; kill it at the end if it is still alive."""
    command = [sys.executable, str(HOLD), engine, run_id, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen[str], wanted: str) -> None:
    """Read its output up to a line."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        if line.strip() == wanted:
            return
        seen.append(line)
    raise AssertionError(f"it ended without {wanted!r}: {seen}")


def wait_until(condition: Callable[[], bool]) -> None:
    assert wait_for(condition, TIMEOUT), "it did not happen"


def processes_of(run_id: str) -> list[psutil.Process]:
    """List the living processes that carry a run's marks."""
    found = []
    for process in psutil.process_iter():
        try:
            marks = ownership.from_environment(process.environ())
            if marks.get(ownership.RUN) == run_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found
