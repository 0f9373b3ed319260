"""A fault: in force once it was observed, not once it was requested."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from harness.core.duration import Span


@dataclass(slots=True)
class InjectedFault:
    """A fault that was observed in force; `healed` is the evidence of its end, once observed."""

    kind: str
    target: str
    evidence: str
    since: int | None = None  # ns, CLOCK_MONOTONIC; when it was first observed, if the proof took longer
    until: int | None = None  # ns; when it was ended, if that was observed later
    healed: str = ""
    left_behind: tuple[int, ...] = ()  # clients that still reach the old primary after a failover
    was_killed: bool = False  # did a client that was stopped not end by itself?
    ends: bool = True  # False: it cannot be healed, such as the kill of a client


InForce = AbstractContextManager[InjectedFault]
Wait = Callable[[Span], None]
"""Waits for a duration, or until the end of the run."""
GoOn = Callable[[], None]
"""Continues the client that stopped itself, once the fault has begun."""


@contextmanager
def then(in_force: InForce, go_on: GoOn) -> Iterator[InjectedFault]:
    """Let a holder go on once a fault on others is in force."""
    with in_force as fault:
        if fault.since is None:
            fault.since = time.monotonic_ns()  # the holder is still there
        go_on()
        yield fault


def polls(within: float, every: float) -> Iterator[None]:
    """Yield at once, and then every so often until the time is over (both in s)."""
    deadline = time.monotonic() + within
    yield
    while time.monotonic() < deadline:
        time.sleep(every)
        yield
