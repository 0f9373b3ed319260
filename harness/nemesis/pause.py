"""Pause: a client's process is stopped, as a long garbage collection would stop it.

What the process has started, such as a program of the user's own, stops and goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from harness import family
from harness.errors import FaultNotInstalledError
from harness.nemesis.fault import Fault


@contextmanager
def pause(process: psutil.Process, target: str, *, stops_itself: bool = False) -> Iterator[Fault]:
    """Keep a process, and all that it has started, stopped until the block ends.

    One that `stops_itself` is only waited for: a signal from here could come before
    its own, which would then stop it again after the end.
    Raises FaultNotInstalledError when it is not seen stopped, or not seen running again.
    """
    if not stops_itself:
        process.suspend()
    try:
        stopped = family.stop_offspring(process) if family.wait_until_stopped(process) else None
        if stopped is None:
            raise FaultNotInstalledError("pause", target, _why_not(process))
        fault = Fault("pause", target, evidence=f"{_named(stopped)} stopped (state T)")
        yield fault
        fault.until = time.monotonic_ns()  # what is recorded from here on, the process may have done
    finally:
        family.continue_all(process)
    if not family.wait_until_continued(stopped):
        raise FaultNotInstalledError("end of the pause", target, "the process is still stopped")
    fault.healed = f"{_named(stopped)} running again"


def _why_not(process: psutil.Process) -> str:
    if family.is_stopped(process):
        return "something that the process has started runs on"
    return f"the process is {process.status()}"


def _named(processes: list[psutil.Process]) -> str:
    numbers = ", ".join(str(process.pid) for process in processes)
    return f"process {numbers} is" if len(processes) == 1 else f"processes {numbers} are"
