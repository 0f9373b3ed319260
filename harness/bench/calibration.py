"""How fast this machine is while nothing is measured: the same work before, between and after the series.

If that changes, other programs had the processors, and no figure of the bench means anything.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from harness.bench.intervals import TOO_DIFFERENT, spread
from harness.core.duration import NS

TAKES = NS["s"] // 20  # ns; of one calibration
_BLOCK = bytes(4096)
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def calibrate() -> float:
    """Return how often a second one processor does the same piece of work now; the best of three."""
    return max(_hashes_per_second() for _ in range(3))


def _hashes_per_second() -> float:
    begun, done = time.monotonic_ns(), 0
    while (elapsed := time.monotonic_ns() - begun) < TAKES:
        hashlib.sha256(_BLOCK).digest()
        done += 1
    return done * NS["s"] / elapsed


def spread_of(calibrations: list[float]) -> float:
    """Return by how much they differ, as a share of the middle one."""
    return spread(calibrations) if calibrations else 0.0


def is_noisy(calibrations: list[float]) -> bool:
    """Was this machine too unsteady for any figure?"""
    return spread_of(calibrations) > TOO_DIFFERENT


def governor() -> str:
    """Return the kernel's policy for the processor's frequency; "" if it does not show one."""
    with suppress(OSError):
        return _GOVERNOR.read_text().strip()
    return ""


def load() -> float:
    """Return how many processes wanted a processor in the last minute, on average."""
    return os.getloadavg()[0]
