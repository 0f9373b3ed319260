"""Workers of a campaign on this machine. Each makes one run at a time.

A run that shares its servers with other runs is made by a process that keeps them until the
worker gets a run that needs others; every other run is made in a process of its own. The
process ends with this one, however that ends, and stops its servers.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from harness.campaign.execution import (
    Finished,
    Order,
    RunAnswer,
    alone,
    answer_in,
    execute,
    making,
    request,
    started,
    unanswered,
)
from harness.core.exit_codes import ExitCode

SERVERS = "servers"
"""In the folder of a night: the servers that several runs share, while they run."""

_STOPPING = 60.0  # s; containers take a few


class Worker:
    """Makes runs, one at a time."""

    def __init__(self) -> None:
        self.servers = ""  # those that it keeps
        self._process: subprocess.Popen[bytes] | None = None

    def execute(self, order: Order) -> Finished:
        """Make a run and wait for its end."""
        self.servers = order.job.servers
        if self.servers:
            return execute(order, self._make)
        self.close()
        return execute(order, alone)

    def close(self) -> None:
        """Stop the servers that it keeps."""
        process, self._process = self._process, None
        if process is not None:
            with process, suppress(BrokenPipeError):
                assert process.stdin is not None, "it was started with a pipe"  # noqa: S101
                process.stdin.close()
                _wait(process)

    def _make(self, order: Order, log: Path) -> RunAnswer:
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
