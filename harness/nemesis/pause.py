"""Pause: a client's process is stopped, as a long garbage collection would stop it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from harness.errors import FaultNotInstalledError
from harness.nemesis.fault import Fault

SETTLING = 5.0  # seconds; signals arrive asynchronously, to a process that must first get a processor
_POLL = 0.0005  # seconds


@contextmanager
def pause(process: psutil.Process, target: str, *, stops_itself: bool = False) -> Iterator[Fault]:
    """Keep a process stopped until the block ends.

    One that `stops_itself` is only waited for: a signal from here could come before
    its own, which would then stop it again after the end.
    Raises FaultNotInstalledError when it is not seen stopped, or not seen running again.
    """
    if not stops_itself:
        process.suspend()
    try:
        if not _settles(process, stopped=True):
            raise FaultNotInstalledError("pause", target, f"the process is {process.status()}")
        fault = Fault("pause", target, evidence=f"process {process.pid} is stopped (state T)")
        yield fault
    finally:
        process.resume()
    if not _settles(process, stopped=False):
        raise FaultNotInstalledError("end of the pause", target, "the process is still stopped")
    fault.healed = f"process {process.pid} runs again"


def is_stopped(process: psutil.Process) -> bool:
    """Is it stopped? One that has ended is not."""
    try:
        return bool(process.status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def _settles(process: psutil.Process, *, stopped: bool) -> bool:
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        if is_stopped(process) is stopped:
            return True
        time.sleep(_POLL)
    return False
