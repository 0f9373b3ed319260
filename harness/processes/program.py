"""The user's program, as a child process of a client or of the harness.

It dies with its parent. Its own child processes are killed with it if the parent can still
do that; `cleanup_process` kills the rest.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.files.logs import CUT, MOST, open_log
from harness.processes import die_with_parent, ownership, process_tree
from harness.processes.supervisor import ending

RUN = "FENCEPOST_PROGRAM_OF"
"""The environment variable that names the run of a program and of its child processes."""
_ENDING = 1.0  # seconds that a program has to end after it closed its pipes
_READ = 2**16  # bytes at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCommand:
    """The command of a program, started in the harness' current folder."""

    words: tuple[str, ...]
    marks: Mapping[str, str]  # environment variables in addition to the harness' own

    @classmethod
    def of_run(cls, words: tuple[str, ...], run_id: str) -> ProgramCommand:
        """Return a command marked as part of a run of this harness."""
        marks = ownership.as_environment(ownership.this_process().marks(run_id))
        return cls(words=words, marks={**marks, RUN: run_id})

    def start(self, log: Path | None = None) -> RunningProgram:
        """Start it, until this thread ends; its standard error goes to a file, or to this process' own."""
        log_file = open_log(log) if log else os.dup(2)
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                die_with_parent.wrapped(self.words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=writing,
                env={**os.environ, **self.marks},
                bufsize=0,
                start_new_session=True,  # the terminal's Ctrl-C is for the harness
            )
        finally:
            os.close(writing)
        copying = threading.Thread(target=_copy, args=(reading, log_file), daemon=True)
        copying.start()
        return RunningProgram(process, copying)

    def __str__(self) -> str:
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A started program; implements `workloads.line_protocol.program_client.Program`."""

    process: subprocess.Popen[bytes]
    copying: threading.Thread  # of its standard error; a child process may hold that open for ever

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

    @property
    def has_ended(self) -> bool:
        """Has it ended, whatever its child processes do?"""
        return self.process.poll() is not None

    def ending(self) -> str:
        """Say how it ended, or that it is still running."""
        try:
            return f"ended with {ending(self.process.wait(_ENDING))}"
        except subprocess.TimeoutExpired:
            return "still runs"

    def terminate(self) -> None:
        """Send it SIGTERM."""
        self.process.terminate()

    def close_input(self) -> None:
        """Close its standard input."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def end(self) -> None:
        """Kill it, with all its child processes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.process.poll() is None:
            process_tree.end(psutil.Process(self.process.pid))
        self.process.wait()
        self.copying.join(_ENDING)


def _copy(reading: int, log: int) -> None:
    """Copy what a program writes, which so never blocks, to a log of limited size; close both descriptors."""
    try:
        while said := os.read(reading, _READ):
            if os.fstat(log).st_size <= MOST + len(CUT):
                os.write(log, said)
    finally:
        os.close(reading)
        os.close(log)


def is_of_program(pid: int) -> bool:
    """Was a process started by the program of some run? False if it has cleared its environment."""
    with suppress(psutil.Error):
        return RUN in psutil.Process(pid).environ()
    return False


def missing(words: tuple[str, ...]) -> str | None:
    """Say why a command cannot be started; None if it can."""
    if shutil.which(words[0]):
        return None
    here = Path(words[0])
    if "/" not in words[0]:
        hint = f"; for the file in the current folder write ./{here}" if here.is_file() else ""
        return f"there is no executable program {here} on PATH{hint}"
    if here.is_dir():
        return f"{here} is a folder, not a program"
    if here.is_file():
        return f"{words[0]} is not executable: run chmod +x {shlex.quote(words[0])}"
    where = "" if here.is_absolute() else f" from the current folder, {Path.cwd()}"
    return f"there is no executable program {words[0]}{where}"
