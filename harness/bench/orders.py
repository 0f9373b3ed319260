"""What a client of a bench is asked to do, and what it answers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.bench.latencies import Latencies
from harness.core.duration import NS
from workloads.settings import LockSettings, StorageSettings

BLOCKS = 10
"""The equal parts of a window, whose rates show how much it varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When a client works, and how often (ns of CLOCK_MONOTONIC)."""

    begins: int
    ends: int
    every: float | None = None  # ns between two operations of this client; None: one after another
    first: int = 0  # ns after the begin; the clients of a rate take turns
    is_open: bool = False  # does an operation that is late count from when it was due?
    gap: float = 0.0  # ns at least between two late operations of an open loop

    def moments(self) -> Iterator[int]:
        """Yield when each operation is due, once it is.

        An open loop sends what was due before the end also after it, for as long as the window; what is
        left then is not sent.
        """
        _sleep_until(self.begins)
        if self.every is None:
            while (now := time.monotonic_ns()) < self.ends:
                yield now
            return
        if not self.is_open:
            yield from self._limited(self.every)
            return
        earliest = 0.0
        for due in self._due(self.every):
            _sleep_until(max(due, round(earliest)))
            earliest = time.monotonic_ns() + self.gap
            if time.monotonic_ns() >= 2 * self.ends - self.begins:
                return
            yield due

    def _limited(self, every: float) -> Iterator[int]:
        """Yield the moments of a closed loop with a limit, which catching up would exceed."""
        due: float = self.begins + self.first
        while due < self.ends:
            _sleep_until(round(due))
            if (now := time.monotonic_ns()) >= self.ends:
                return
            yield now
            due = max(due + every, time.monotonic_ns())

    def wait(self) -> None:
        """Wait as long as between two operations of this client."""
        time.sleep((self.every or 0) / NS["s"])

    def block(self, moment: int) -> int:
        """Return the block of a moment; BLOCKS if it comes after the end."""
        return min(BLOCKS, (moment - self.begins) * BLOCKS // (self.ends - self.begins))

    def unsent(self, sent: int) -> int:
        """Return how many operations of an open loop were due, but not sent."""
        if self.every is None or not self.is_open:
            return 0
        return max(0, sum(1 for _ in self._due(self.every)) - sent)

    def _due(self, every: float) -> Iterator[int]:
        """Yield when each operation of a rate is due; a moment at the end is not in the window."""
        for nth in itertools.count():
            if (due := round(self.begins + self.first + nth * every)) >= self.ends:
                return
            yield due


def _sleep_until(moment: int) -> None:
    if (left := moment - time.monotonic_ns()) > 0:
        time.sleep(left / NS["s"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOfBench:
    """What a client is: sent once, before its first order."""

    number: int
    lock: LockSettings
    storage: StorageSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LockLoop:
    """Acquire a lock and release it, again and again."""

    window: Window
    resources: tuple[str, ...]  # each time one of them, at random


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """One way to write."""

    fencing: str
    logged: bool  # does the storage log the write, as it does in a run?
    raises_mark: bool = False  # raise the mark, as fence_on_acquire does, and write nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLoop:
    """Write a resource in one way, again and again."""

    window: Window
    writing: Writing
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRounds:
    """Write a resource once in each way, in an order drawn for each round, on one connection."""

    window: Window
    writings: tuple[Writing, ...]
    resource: str
    keeps_lock: bool  # hold its lock, whose grant gives the token


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireOnce:
    """Acquire a lock, and keep it."""

    window: Window  # its end is when to give up
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOnce:
    """Release a lock, held or lost."""

    window: Window
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedWrites:
    """Write a resource under its lock, again and again, until the window ends or the lease is lost."""

    window: Window
    writing: Writing
    resource: str
    keeps_lock: bool  # acquire once and renew; or acquire and release for each write


Order = LockLoop | WriteLoop | WriteRounds | AcquireOnce | ReleaseOnce | LockedWrites


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a client has measured."""

    latencies: Mapping[str, Latencies]  # by operation
    rounds: Any = None
    """ns; an array [round, way to write, 0: latency or 1: the processor time that it took this client]."""
    moments: Mapping[str, int] = field(default_factory=dict)  # ns of CLOCK_MONOTONIC, by what happened
    sent: tuple[int, ...] = ()  # ns; when each write under a kept lock was
