"""A program of the user's own, started as a client's child or as the harness'.

It dies with whoever started it. What it has started itself in turn is killed with it where
somebody is left to do that; see `guard` for the rest.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.files.log_file import open_log
from harness.processes import launcher, ownership, process_tree
from harness.processes.supervisor import ending

RUN = "FENCEPOST_PROGRAM_OF"
"""The environment variable that tells of which run a program is, and with it all that it starts."""
_ENDING = 1.0  # seconds; in which one that has closed its pipes may end


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How the program is started, in the folder that the harness was started in."""

    words: tuple[str, ...]
    marks: Mapping[str, str]  # environment variables beside the harness' own

    @classmethod
    def of_run(cls, words: tuple[str, ...], run_id: str) -> Command:
        """Mark it as part of a run of this harness."""
        marks = ownership.as_environment(ownership.this_process().marks(run_id))
        return cls(words=words, marks={**marks, RUN: run_id})

    def start(self, log: Path | None = None) -> RunningProgram:
        """Start it; what it says on standard error goes to a file, or to this process' own.

        It dies with the thread that calls this.
        """
        tied = [
            sys.executable,
            "-I",
            "-S",
            launcher.__file__,
            str(int(signal.SIGKILL)),
            str(os.getpid()),
            "-",
        ]
        with open(open_log(log), "ab") if log else nullcontext() as errors:  # noqa: PTH123 (a descriptor)
            process = subprocess.Popen(
                [*tied, *self.words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **self.marks},
                bufsize=0,
                start_new_session=True,  # the terminal's Ctrl-C is for the harness
            )
        return RunningProgram(process)

    def __str__(self) -> str:
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """One that was started: fits `workloads.line_protocol.program_client.Program`."""

    process: subprocess.Popen[bytes]

    @property
    def reading(self) -> int:
        """The file descriptor from which its standard output is read."""
        assert self.process.stdout is not None, "it was started with pipes"  # noqa: S101
        return self.process.stdout.fileno()

    @property
    def writing(self) -> int:
        """The file descriptor through which its standard input is written."""
        assert self.process.stdin is not None, "it was started with pipes"  # noqa: S101
        return self.process.stdin.fileno()

    def ending(self) -> str:
        """Say how it has ended, or that it has not."""
        try:
            return f"ended with {ending(self.process.wait(_ENDING))}"
        except subprocess.TimeoutExpired:
            return "still runs"

    def end(self) -> None:
        """Kill it, with everything that it has started."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.process.poll() is None:
            process_tree.end(psutil.Process(self.process.pid))
        self.process.wait()


def missing(words: tuple[str, ...]) -> str | None:
    """Say what is wrong with a command that cannot be started, or None."""
    if shutil.which(words[0]):
        return None
    where = "from here" if "/" in words[0] else "on PATH"
    return f"there is no program {words[0]} {where} that may be executed"
