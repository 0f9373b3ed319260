"""A process that outlives the harness and cleans up after it, however the harness ends.

It is a `companion`: it runs in its own session, and ends with its standard input, which only the harness
holds open. It first reads one line, its order, and then waits for that end. This module is the program for
three orders: kill leftover processes of a run's programs, continue stopped processes, and run the user's
command that heals a fault. `harness.run.removal` is another.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from typing import IO

import psutil

from harness.core.errors import InfrastructureError
from harness.processes import process_tree
from harness.processes.program import RUN
from harness.processes.script import EndedCommand, run

PATIENCE = 5.0  # seconds
_POLL = 0.02  # seconds
_IN_A_ROW = 3  # consecutive looks that find nothing: a client that is being killed may start one more


@contextmanager
def companion(
    module: str, *, stdout: int | None = None, stderr: int | IO[bytes] | None = None, bufsize: int = -1
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module until the block ends; unlike with Popen alone, Ctrl-C waits for its end, too."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        bufsize=bufsize,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()


@contextmanager
def cleanup_process(module: str, order: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Start a module as such a process; `communicate`, or the end of the block, lets it act."""
    with companion(module, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None  # noqa: S101 - a pipe
        process.stdin.write(order + b"\n")
        process.stdin.flush()
        yield process


def order_when_due() -> str:
    """In that process: wait until it has to act, and return its order."""
    order = sys.stdin.readline()
    sys.stdin.read()
    return order


def programs_killed_at_end(run_id: str) -> AbstractContextManager[object]:
    """Kill the processes of a run's programs, also orphans, when the block or this process ends."""
    return _at_end("kill", run_id)


def continued_at_end(heads: Iterable[psutil.Process]) -> AbstractContextManager[object]:
    """Continue processes and their descendants when the block ends, or this process does.

    A server that a fault has stopped would otherwise outlive a killed harness: it only handles the
    signal of its parent's death once it continues.
    """
    return _at_end("continue", *(head.pid for head in heads))


@contextmanager
def healed_at_end(words: Sequence[str], timeout: float) -> Iterator[Callable[[], EndedCommand]]:
    """Run a command when the block ends, or this process does; each may take `timeout` seconds.

    Yields what runs it now, and returns how it ended; the end of the block does not run it again.
    """
    with _at_end("heal", list(words), timeout) as process:

        def heal() -> EndedCommand:
            said, _ = process.communicate()
            if not said:
                raise InfrastructureError(f"{words[0]} was not run to heal: its process ended")
            return EndedCommand(**json.loads(said))

        yield heal


def _at_end(task: str, *arguments: object) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return cleanup_process(__name__, json.dumps([task, *arguments]).encode())


def _kill_programs(run_id: str) -> None:
    """Kill every process with the mark of the run's programs, including orphans and stopped ones."""
    deadline = time.monotonic() + PATIENCE
    nothing = 0
    while nothing < _IN_A_ROW and time.monotonic() < deadline:
        nothing += 1
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):  # it has ended, or belongs to another user
                if process.environ().get(RUN) == run_id and process.status() != psutil.STATUS_ZOMBIE:
                    nothing = 0
                    process.kill()  # as soon as it is seen: it may fork and end
        time.sleep(_POLL)


def _continue(*heads: int) -> None:
    for pid in heads:
        with suppress(psutil.NoSuchProcess):
            process_tree.continue_all(psutil.Process(pid))


def _heal(words: Sequence[str], timeout: float) -> None:
    ended = run(words, timeout)
    with suppress(BrokenPipeError):  # the harness was killed
        sys.stdout.write(json.dumps(asdict(ended)))
        sys.stdout.flush()


_TASKS: dict[str, Callable[..., None]] = {"kill": _kill_programs, "continue": _continue, "heal": _heal}


def main() -> None:
    """Carry out the order."""
    task, *arguments = json.loads(order_when_due())
    _TASKS[task](*arguments)


if __name__ == "__main__":
    main()
