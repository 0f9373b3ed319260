"""Commands of the user that inject, observe and heal a fault: each ends within a deadline."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from harness.processes import process_tree
from harness.processes.supervisor import ending

SHOWN = 200  # characters of its last line of output
MOST = 1 << 16  # bytes read of its output


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCommand:
    """How a command ended."""

    command: str
    status: int | None  # None: it was killed at its deadline
    said: str  # the last line of its output, of both streams

    def __str__(self) -> str:
        how = "did not end in time" if self.status is None else f"ended with {ending(self.status)}"
        return f"`{self.command}` {how}" + (f": {self.said}" if self.said else "")


def run(words: Sequence[str], timeout: float) -> EndedCommand:
    """Run a command in the current folder for at most `timeout` seconds, then kill it with its children."""
    command = shlex.join(words)
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except OSError as error:
            return EndedCommand(command=command, status=127, said=str(error))
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
            process_tree.end(psutil.Process(process.pid))
            process.wait()
        output.seek(max(0, output.seek(0, 2) - MOST))
        lines = output.read(MOST).decode(errors="replace").strip().splitlines()
    return EndedCommand(command=command, status=status, said=lines[-1].strip()[:SHOWN] if lines else "")
