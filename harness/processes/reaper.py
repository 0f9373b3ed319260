"""Ends what the programs of a run have left behind, however the harness ends: `guard.py RUN`.

A process of its own, in a session of its own. It waits for the end of its standard input,
which only the harness holds open, and then kills every process that carries the mark of the
run's programs: also what a program started and left, and what was stopped at that moment.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from harness.processes.program import RUN

PATIENCE = 5.0  # seconds
_POLL = 0.02  # seconds
_IN_A_ROW = 3  # looks that find nothing: a client that is being killed may have started one more


@contextmanager
def reaper(run_id: str) -> Iterator[None]:
    """Leave no program of a run behind, whatever ends the block, or this process."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "harness.processes.reaper", run_id],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ):
        yield


def main() -> None:
    """Follow the command line."""
    sys.stdin.read()
    deadline = time.monotonic() + PATIENCE
    nothing = 0
    while nothing < _IN_A_ROW and time.monotonic() < deadline:
        left = list(_programs_of(sys.argv[1]))
        nothing = 0 if left else nothing + 1
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_POLL)


def _programs_of(run_id: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it has ended, or is somebody else's
            if process.environ().get(RUN) == run_id and process.status() != psutil.STATUS_ZOMBIE:
                yield process


if __name__ == "__main__":
    main()
