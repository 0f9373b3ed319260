"""A measurement: the median of several times, and the peak memory."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_FORGET_PEAK = "5"  # proc(5), /proc/pid/clear_refs


def measured(times: int, work: Callable[[], object]) -> dict[str, Any]:
    """Measure the time of `work` and the peak memory of this process."""
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_FORGET_PEAK, encoding="ascii")
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return result(seconds, peak())


def result(seconds: Sequence[float], kibibytes: int) -> dict[str, Any]:
    """Return a measurement in the form of the results file."""
    return {"seconds": statistics.median(seconds), "mebibytes": kibibytes / 1024, "times": len(seconds)}


def in_own_process(job: str, **arguments: Any) -> dict[str, Any]:
    """Run a job of `benchmarks.jobs` in a separate process."""
    command = [sys.executable, "-m", "benchmarks.jobs", job, json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rechecked(times: int, path: Path) -> dict[str, Any]:
    """Measure `fencepost recheck`, from the start of the command to its end."""
    runs = [_rechecked(path) for _ in range(times)]
    return result([seconds for seconds, _ in runs], max(kibibytes for _, kibibytes in runs))


def _rechecked(path: Path) -> tuple[float, int]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "harness.cli", "recheck", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss


def peak() -> int:
    """The peak memory of this process, in KiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))  # KiB
