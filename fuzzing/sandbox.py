"""Run one case in a separate process, and measure its result, output, time and memory."""

from __future__ import annotations

import math
import os
import resource
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

LONGEST = 5.0
"""The limit on a case's processor time in seconds; more is a hang."""
IDLE = 30.0
"""How long a case may do almost nothing, in seconds: on a busy machine, it waits for its turn."""
MOST_MEMORY = 1 << 30
"""The memory limit of a case in bytes."""
_MOST_WRITTEN = 1 << 28  # bytes of each file
_CRASHED = 70  # the exit code of a case that ended in an exception


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case."""

    code: int  # the exit code; negative: the signal that ended it
    said: str  # on stdout and stderr
    seconds: float  # of processor time
    memory: int  # bytes, peak
    hung: bool


def run(case: Callable[[], int], folder: Path, longest: float = LONGEST, idle: float = IDLE) -> Outcome:
    """Run a case in a child process, in a folder; its result is the exit code."""
    said = folder / ".said"
    sys.stdout.flush()
    sys.stderr.flush()
    child = _fork()
    if child == 0:
        _run_in_child(case, folder, said, longest)
    hung = _wait(child, idle)
    _, status, used = os.wait4(child, 0)
    return Outcome(
        code=os.waitstatus_to_exitcode(status),
        said=said.read_text(encoding="utf-8", errors="backslashreplace") if said.exists() else "",
        seconds=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss * 1024,
        hung=hung or -os.waitstatus_to_exitcode(status) == signal.SIGXCPU,
    )


def _fork() -> int:
    """Like os.fork, without its warning: a case does not need other threads, such as numpy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run_in_child(case: Callable[[], int], folder: Path, said: Path, longest: float) -> None:
    """Run the case in the child process, and exit."""
    code = _CRASHED
    try:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (a descriptor)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
        os.chdir(folder)
        _limit(longest)
        code = case()
    except BaseException:  # noqa: BLE001 - a finding, whatever it is
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _limit(longest: float) -> None:
    own = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (own + MOST_MEMORY, own + MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(longest), math.ceil(longest) + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_WRITTEN, _MOST_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(child: int, idle: float) -> bool:
    """Wait until it ends, and kill it if it only waits for something; return whether it was killed.

    The limit on processor time ends a case that works too long.
    """
    ended = select.poll()
    descriptor = os.pidfd_open(child)
    try:
        ended.register(descriptor, select.POLLIN)
        worked = 0.0
        while not ended.poll(idle * 1000):
            times = psutil.Process(child).cpu_times()
            if times.user + times.system - worked < idle / 100:
                os.kill(child, signal.SIGKILL)
                return True
            worked = times.user + times.system
        return False
    finally:
        os.close(descriptor)
