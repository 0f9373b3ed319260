"""Kills leftover processes of a run's programs, however the harness ends: `reaper.py RUN`.

A separate process in its own session. It waits for the end of its standard input, which only
the harness holds open, and then kills every process with the mark of the run's programs,
including orphans and stopped ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from harness.processes.program import RUN
from harness.processes.survivor import companion

PATIENCE = 5.0  # seconds
_POLL = 0.02  # seconds
_IN_A_ROW = 3  # consecutive looks that find nothing: a client that is being killed may start one more


@contextmanager
def reaper(run_id: str) -> Iterator[None]:
    """Leave no program of a run behind, however the block or this process ends."""
    with companion("harness.processes.reaper", run_id):
        yield


def main() -> None:
    """Run the command line."""
    sys.stdin.read()
    deadline = time.monotonic() + PATIENCE
    nothing = 0
    while nothing < _IN_A_ROW and time.monotonic() < deadline:
        nothing += 1
        for process in _programs_of(sys.argv[1]):  # each is killed when it is seen: it may fork and end
            nothing = 0
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_POLL)


def _programs_of(run_id: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it has ended, or belongs to another user
            if process.environ().get(RUN) == run_id and process.status() != psutil.STATUS_ZOMBIE:
                yield process


if __name__ == "__main__":
    main()
