"""Repeat a real run until its faults challenged it: a run that was not challenged proves nothing.

On a loaded machine the few seconds of a run can pass before a pause outlives a lease. Such a
run ends as "not tested", or without the event that a test is about. It is repeated with
another seed and for longer. A run that ends in any other way is returned at once, so that the
test fails on the first wrong verdict.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess
from typing import Any, TypeVar

from harness.core.exit_codes import ExitCode

T = TypeVar("T")
PATIENCE = 240.0  # s; no run begins later
LONGEST = 60  # s of one run
Condition = Callable[[dict[str, Any]], bool]
Start = Callable[[str], CompletedProcess[str]]


def counted(*names: str, least: int = 1) -> Condition:
    """Is each of these counts of the coverage high enough?"""
    return lambda verdict: all(verdict["coverage"][name] >= least for name in names)


ATTEMPTED = counted("stale_writes_attempted")


def run_until_challenged(
    start: Start, seconds: int, was_challenged: Condition = ATTEMPTED
) -> CompletedProcess[str]:
    """Start a run with a setting of its duration, twice as long each time, until one was challenged.

    Its stdout is the verdict as JSON. Return the first run that was challenged, or that ended
    neither as expected nor as "not tested"; or the last one.
    """
    longer = durations(seconds)
    return repeated(lambda: start(next(longer)), lambda done: proves_nothing(done, was_challenged))


def durations(seconds: int) -> Iterator[str]:
    """Settings of a run's duration, twice as long each time."""
    return (f"workload.duration={min(seconds << number, LONGEST)}s" for number in itertools.count())


def repeated(attempt: Callable[[], T], proves_nothing: Callable[[T], bool]) -> T:
    """Return the result of the first attempt that proves something, or of the last one."""
    deadline = time.monotonic() + PATIENCE
    while proves_nothing(got := attempt()) and time.monotonic() < deadline:
        pass
    return got


def proves_nothing(done: CompletedProcess[str], was_challenged: Condition = ATTEMPTED) -> bool:
    """Did a run end as expected or as "not tested", without being challenged?"""
    if done.returncode == ExitCode.UNKNOWN:
        return was_not_exercised(json.loads(done.stdout))
    return done.returncode == ExitCode.AS_EXPECTED and not was_challenged(json.loads(done.stdout))


def found_nothing(done: CompletedProcess[str]) -> bool:
    """Is that what is wrong: the target expects an anomaly that this run did not show?"""
    return done.returncode == ExitCode.VIOLATION and json.loads(done.stdout)["reason_kinds"] == ["not-found"]


def was_not_exercised(verdict: dict[str, Any]) -> bool:
    """Is that the only reason why a verdict is unknown?"""
    reasons = verdict["reasons"]
    return verdict["verdict"] == "unknown" and all(each.startswith("not tested: ") for each in reasons)
