"""A process and everything that it has started: stopped, continued and ended as one.

A client's own program may be a shell script that starts a JVM, which has threads: to stop
only the process that was started first would stop nothing that matters. What a process has
started is known from /proc, whatever process group or session it has moved to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from harness.processes.parent_death import adopt_orphans

SETTLING = 5.0  # seconds; signals arrive asynchronously, to a process that must first get a processor
_POLL = 0.0005  # seconds
_STOPPED = frozenset("Tt")
_ENDED = frozenset("ZXx")


def members(head: psutil.Process) -> list[psutil.Process]:
    """The process itself, and then everything that it has started and that has not ended."""
    with suppress(psutil.NoSuchProcess):
        return [each for each in (head, *head.children(recursive=True)) if not _has_ended(each)]
    return []


def is_stopped(process: psutil.Process) -> bool:
    """Is every thread of it stopped? One that has ended is not."""
    if not _state(Path(f"/proc/{process.pid}")) <= _STOPPED | _ENDED:  # seldom is there more to look at
        return False
    states = _states(process)
    return bool(states & _STOPPED) and states <= _STOPPED | _ENDED


def wait_until_stopped(process: psutil.Process) -> bool:
    """Wait for a process that was sent SIGSTOP; False if it did not stop in time."""
    return _settles(lambda: is_stopped(process))


def stop_offspring(head: psutil.Process) -> list[psutil.Process] | None:
    """Stop all that a stopped process has started; return every member, or None if one runs on.

    One that still ran may have started another while it was told to stop; once all are
    seen stopped, a second look shows whether that was all of them.
    """
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        found = members(head)
        running = [each for each in found if not is_stopped(each)]
        for each in running:
            _signal(each.suspend)
        if found and not running and members(head) == found:
            return found
        time.sleep(_POLL)
    return None


def continue_all(head: psutil.Process) -> None:
    """Let all of them go on, whoever was started last first."""
    for each in reversed(members(head)):
        _signal(each.resume)


def wait_until_continued(processes: Iterable[psutil.Process]) -> bool:
    """Wait until none of them is stopped any more; False if one still is when time is up."""
    return _settles(lambda: not any(is_stopped(each) for each in processes))


def end(head: psutil.Process) -> None:
    """Kill all of them; whoever started the process waits for it."""
    _signal(head.suspend)  # from now on it starts no other
    wait_until_stopped(head)
    end_offspring(head)
    _signal(head.kill)


def end_offspring(head: psutil.Process) -> None:
    """Kill all that a process has started, until there is nothing left of it."""
    deadline = time.monotonic() + SETTLING
    while (offspring := members(head)[1:]) and time.monotonic() < deadline:
        for each in offspring:
            _signal(each.kill)
        time.sleep(_POLL)


@contextmanager
def no_orphans() -> Iterator[None]:
    """End what is left, when the block ends, of what was started in it and whose own parent has ended.

    A program may fork twice, change its session and clean its environment: as its parent ends,
    it becomes a child of this process.
    """
    this = psutil.Process()
    before = set(this.children())
    adopt_orphans()
    try:
        yield
    finally:
        for orphan in set(this.children()) - before:
            end(orphan)
            with suppress(ChildProcessError):  # whoever started it has waited for it
                os.waitpid(orphan.pid, 0)
        adopt_orphans(adopt=False)


def _settles(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SETTLING
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _states(process: psutil.Process) -> set[str]:
    """The states of its threads, as letters (proc(5)); empty if it is gone."""
    states: set[str] = set()
    with suppress(OSError):  # it may end at any moment
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            states |= _state(thread)
    return states if process.is_running() else set()  # else its number may be another's by now


def _state(folder: Path) -> set[str]:
    """The state of one thread; empty if it is gone."""
    try:
        return {(folder / "stat").read_text(errors="replace").rpartition(") ")[2][:1]}
    except OSError:
        return set()


def _has_ended(process: psutil.Process) -> bool:
    return not _states(process) - _ENDED


def _signal(send: Callable[[], None]) -> None:
    with suppress(psutil.Error):  # it has ended, or is another user's: whoever looks will see
        send()
