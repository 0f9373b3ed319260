"""Servers as child processes that die with the harness, however it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from harness.core.errors import ServerNotReadyError
from harness.files.logs import MOST, not_ready, open_log, shortened
from harness.processes import die_with_parent, process_tree
from harness.processes.unprivileged import others_can_reach

STOP_TIMEOUT = 5.0  # s; then SIGKILL
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LET_IT_FINISH = 0  # no signal: for a command that ends on its own, and should not be interrupted


@dataclass(frozen=True, slots=True)
class Child:
    """A started process."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    stop_signal: int
    command: Sequence[str]

    def failed(self, seen: str) -> ServerNotReadyError:
        """Return the error of what was seen, with its last log lines."""
        return not_ready(self.name, seen, self.read_log())

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last log lines, if it has ended."""
        code = self.process.poll()
        if code is not None:
            raise self.failed(f"ended with {ending(code)}")

    def has_ended(self) -> bool:
        """Has it ended, in any way?"""
        return self.process.poll() is not None

    def kill(self) -> None:
        """Kill it with SIGKILL, and all its child processes."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process_tree.end(psutil.Process(self.process.pid))
        self.process.wait()

    def end(self, stop_signal: signal.Signals) -> None:
        """Make it end by itself; ServerNotReadyError if that takes too long."""
        self.process.send_signal(stop_signal)
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise self.failed(f"did not end within {STOP_TIMEOUT:g} s of {stop_signal.name}") from None

    def has_finished(self) -> bool:
        """Has a command ended? ServerNotReadyError if it failed."""
        code = self.process.poll()
        if code:
            raise self.failed(f"ended with {ending(code)}")
        return code == 0

    def finish(self, timeout: float) -> None:
        """Wait for a command to end; ServerNotReadyError if it fails or takes longer than `timeout` (s)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout)
        if not self.has_finished():
            raise self.failed(f"did not end within {timeout:g} s")

    def read_log(self) -> str:
        """Return its log so far, of both output streams."""
        with self.log.open("rb") as log:
            return shortened(log.read(MOST + 2**20)).decode(errors="replace")

    def ask_to_stop(self) -> None:
        """Send its stop signal, and continue it if a fault has stopped it."""
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Wait for its end, and kill it if it takes too long."""
        self.ask_to_stop()
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The child processes of one run."""

    home: Path  # their data; removed with them
    logs: Path  # kept
    environment: Mapping[str, str]  # all of it: the user's ETCD_NAME or PGDATA would configure them
    user: int | None = None  # the user they run as; None: the harness' own
    children: list[Child] = field(default_factory=list)
    # Children die with the thread that started them: this thread lives as long as the supervisor.
    parent: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))

    def make(self) -> None:
        """Create the folders; other users may traverse `home`."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700)
        self.home.chmod(0o711)  # not left to the umask

    def folder(self, name: str) -> Path:
        """Create a folder for one child's data, which only that child can enter."""
        folder = self.home / name
        folder.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(folder, self.user, -1)
        return folder

    def file(self, name: str, text: str) -> Path:
        """Create a file in `home` that only the children can read, such as one with a password."""
        made = os.open(self.home / name, _NEW, 0o600)
        with os.fdopen(made, "w", encoding="utf-8") as opened:
            opened.write(text)
            if self.user is not None:
                os.fchown(made, self.user, -1)
        return self.home / name

    def program(self, program: Path) -> Path:
        """Return a program, or a library of one: a copy if the children cannot reach the original."""
        if self.user is None or others_can_reach(program):
            return program
        copies = self.home / "programs"
        copies.mkdir(exist_ok=True)
        copies.chmod(0o755)  # not left to the umask
        copy = copies / program.name
        if not copy.exists():
            shutil.copyfile(program, copy)
            copy.chmod(0o755)
        return copy

    def spawn(self, name: str, command: Sequence[str | Path], *, stop_signal: int = signal.SIGKILL) -> Child:
        """Start a process that logs to `logs/<name>.log` and does not get the terminal's Ctrl-C.

        It gets `stop_signal` when the harness ends, however that happens; none with LET_IT_FINISH.
        """
        wrapped = die_with_parent.wrapped(map(str, command), sign=stop_signal, user=self.user)
        return self.parent.submit(self._start, name, wrapped, stop_signal).result()

    def _start(self, name: str, command: Sequence[str], stop_signal: int) -> Child:
        log = self.logs / f"{name}.log"
        with open(open_log(log), "ab") as output:  # noqa: PTH123 (a descriptor)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env={"PATH": os.defpath, "LC_ALL": "C", **self.environment},
                start_new_session=True,
            )
        child = Child(name, process, log, stop_signal, command)
        self.children.append(child)
        return child

    def restart(self, child: Child) -> None:
        """Restart an ended child with the same command."""
        self.parent.submit(self._start, child.name, child.command, child.stop_signal).result()
        self.children.remove(child)

    def run_to_completion(self, name: str, command: Sequence[str | Path], *, timeout: float) -> None:
        """Run a command to its end; ServerNotReadyError if it fails or takes longer than `timeout` (s)."""
        child = self.spawn(name, command)
        child.finish(timeout)
        self.children.remove(child)

    def clear(self) -> None:
        """End all children at the same time, and remove their data."""
        self.parent.submit(int).result()  # a start that was interrupted has finished by then
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.stop()
        self.children.clear()
        shutil.rmtree(self.home, ignore_errors=True)

    def close(self) -> None:
        """End all children, and remove everything but the logs."""
        self.clear()
        self.parent.shutdown()


def ending(code: int) -> str:
    """Say how a process ended, such as "status 1" or "SIGKILL"."""
    return f"status {code}" if code >= 0 else signal.Signals(-code).name
