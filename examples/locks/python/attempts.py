"""A wait of our own, for libraries that do not say when they sent the request that was granted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from protocol import Failed

T = TypeVar("T")
RETRY = 0.02  # s


def until_granted(wait: float, attempt: Callable[[], T], retry: float = RETRY) -> tuple[T, int]:
    """Repeat an attempt until it returns something; return that, and when it was sent (CLOCK_MONOTONIC)."""
    until = time.monotonic() + wait
    while True:
        sent = time.monotonic_ns()
        if got := attempt():
            return got, sent
        if time.monotonic() + retry > until:
            raise Failed("not free in time")
        time.sleep(retry)
