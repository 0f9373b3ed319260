"""Processes that get only a share of the time: stopped and continued again, many times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

from harness.processes import process_tree

PERIOD = 0.1  # s; the Linux scheduler's own, for a limited group


@dataclass(frozen=True, slots=True)
class Throttled:
    """How often something was held up, and the CPU time that it used, in seconds."""

    times: int
    cpu: float


Throttling = Callable[[], Throttled]
"""Says how much something has been throttled since the limit began."""


@dataclass(slots=True)
class _Cycle:
    head: psutil.Process
    share: float
    over: threading.Event = field(default_factory=threading.Event)
    stops: int = 0  # those that were observed

    def turn(self) -> None:
        while not self.over.wait(self.share * PERIOD):
            begun = time.monotonic()
            try:
                self.stops += process_tree.stop_all(self.head) is not None
                self.over.wait(max(0.0, (1 - self.share) * PERIOD - (time.monotonic() - begun)))
            finally:
                process_tree.continue_all(self.head)


@contextmanager
def duty_cycle(head: psutil.Process, share: float) -> Iterator[Throttling]:
    """Let a process and its descendants run for a share of each period until the block ends."""
    cycle = _Cycle(head, share)
    before = _cpu_of(head)
    thread = threading.Thread(target=cycle.turn, daemon=True)
    thread.start()
    try:
        yield lambda: Throttled(cycle.stops, max(0.0, _cpu_of(head) - before))
    finally:
        cycle.over.set()
        thread.join()


def _cpu_of(head: psutil.Process) -> float:
    used = 0.0
    for process in process_tree.members(head):
        with suppress(psutil.Error):  # it may end at any moment
            used += sum(process.cpu_times())
    return used
