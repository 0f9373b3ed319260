"""A process and all its descendants, stopped, continued and killed together.

A client's program may be a shell script that starts a JVM with threads: stopping only the
script would stop nothing that matters. /proc lists the descendants of a process, whatever
process group or session they have moved to.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from harness.processes.die_with_parent import adopt_orphans
from harness.processes.ownership import stat_of

SETTLING = 5.0  # seconds; signals arrive asynchronously, and the process must first be scheduled
_CHASE = 60.0  # seconds; of processes that fork new ones faster than a busy machine lets us look
_POLL = 0.0005  # seconds
_IN_A_ROW = 3  # looks that find nothing
_STOPPED = frozenset("Tt")
_ENDED = frozenset("ZXx")


def members(head: psutil.Process) -> list[psutil.Process]:
    """Return the process itself, and then its descendants that have not ended."""
    with suppress(psutil.NoSuchProcess):
        return [each for each in (head, *head.children(recursive=True)) if not has_ended(each)]
    return []


def has_ended(process: psutil.Process) -> bool:
    """Has it ended, whether or not its parent has waited for it?"""
    return not _states(process) - _ENDED


def is_stopped(process: psutil.Process) -> bool:
    """Are all its threads stopped? False for a process that has ended."""
    if not _state(Path(f"/proc/{process.pid}")) <= _STOPPED | _ENDED:  # without reading its threads
        return False
    states = _states(process)
    return bool(states & _STOPPED) and states <= _STOPPED | _ENDED


def wait_until_stopped(process: psutil.Process) -> bool:
    """Wait for a process that was sent SIGSTOP; False if it ended, or did not stop in time."""
    _settles(lambda: is_stopped(process) or has_ended(process))
    return is_stopped(process)


def stop_all(head: psutil.Process) -> list[psutil.Process] | None:
    """Stop a process and its descendants; return all processes, or None if one keeps running."""
    _signal(head.suspend)
    return stop_offspring(head) if wait_until_stopped(head) else None


def stop_offspring(head: psutil.Process) -> list[psutil.Process] | None:
    """Stop the descendants of a stopped process; return all processes, or None if one keeps running.

    A process may start another one before its signal arrives; once all are observed stopped,
    a second look shows whether the list was complete.
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
    """Continue all of them, the last started first."""
    for each in reversed(members(head)):
        _signal(each.resume)


def wait_until_continued(processes: Iterable[psutil.Process]) -> bool:
    """Wait until none of them is stopped; False if one still is when time is up."""
    return _settles(lambda: not any(is_stopped(each) for each in processes))


def wait_until_ended(processes: Iterable[psutil.Process]) -> bool:
    """Wait until all have ended; False if one has not when time is up."""
    return _settles(lambda: all(has_ended(each) for each in processes))


def end(head: psutil.Process) -> None:
    """Kill all of them; the parent of the process must wait for it."""
    _signal(head.suspend)  # so that it starts no others
    wait_until_stopped(head)
    end_offspring(head)
    _signal(head.kill)


def end_offspring(head: psutil.Process) -> None:
    """Kill the descendants of a process until none is left."""

    def look() -> Iterator[int]:
        if head.is_running():
            for each, _child in _descendants(head.pid):
                if _kill(each):
                    yield each

    _end_what_is_seen(look)


@contextmanager
def no_orphans() -> Iterator[None]:
    """At the end of the block, kill all processes started in it whose own parent has ended.

    A program may fork twice, change its session and clear its environment: when its parent
    ends, it still becomes a child of this process.
    """
    before = {child for _each, child in _descendants(os.getpid())}
    adopted = adopt_orphans()
    try:
        yield
    finally:
        end_children(lambda child: child not in before)
        adopt_orphans(adopt=adopted)


def end_children(meant: Callable[[int], bool]) -> None:
    """Kill some of this process' children, with their descendants, until none of them is left."""

    def look() -> Iterator[int]:
        for each, child in _descendants(os.getpid()):
            if meant(child):
                _kill(each)
                if each == child:
                    with suppress(ChildProcessError):  # another thread has waited for it
                        os.waitpid(child, 0)
                yield each

    _end_what_is_seen(look)


def _end_what_is_seen(look: Callable[[], Iterable[int]]) -> None:
    """Kill processes as soon as they are seen, until several looks in a row find none.

    One of them may fork the next one and end, a thousand times a second, so no list of processes is
    still true when it is complete.
    """
    seen: set[int] = set()
    begun = time.monotonic()
    deadline = begun + SETTLING
    nothing = 0
    while nothing < _IN_A_ROW and time.monotonic() < deadline:
        found = set(look())
        nothing = 0 if found else nothing + 1
        if found - seen:
            deadline = min(time.monotonic() + SETTLING, begun + _CHASE)
        seen |= found
        if not found:
            time.sleep(_POLL)


def _kill(pid: int) -> bool:
    """Kill a process; False if it had ended."""
    if not _state(Path(f"/proc/{pid}")) - _ENDED:
        return False
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    return True


def _descendants(pid: int) -> Iterator[tuple[int, int]]:
    """Yield each descendant when it is seen, the newest first, and the child that it descends from."""
    known: dict[int, int] = {}  # by process, that child; 0: not a descendant
    for each in sorted(map(int, filter(str.isdecimal, os.listdir("/proc"))), reverse=True):  # noqa: PTH208 - names, not paths
        line, above = [], each
        while above > 1 and above not in known:
            line.append(above)
            fields = stat_of(Path(f"/proc/{above}"))
            parent = int(fields[1]) if fields else 0
            known[above] = above if parent == pid else 0
            above = above if parent == pid else parent
        child = known.get(above, 0)
        known.update(dict.fromkeys(line, child))
        if child:
            yield each, child


def _settles(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SETTLING
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _states(process: psutil.Process) -> set[str]:
    """Return the states of its threads, as letters (proc(5)); empty if it is gone."""
    states: set[str] = set()
    with suppress(OSError):  # it may end at any moment
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            states |= _state(thread)
    return states if process.is_running() else set()  # otherwise its pid may have been reused


def _state(folder: Path) -> set[str]:
    return set(stat_of(folder)[:1])


def _signal(send: Callable[[], None]) -> None:
    # It has ended, or belongs to another user: the next look at its state shows that.
    with suppress(psutil.Error):
        send()
