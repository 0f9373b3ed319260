"""Poll to a deadline; times that leave room on a slow machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0  # s; a guard: it costs nothing if the condition becomes true
SOON = 5.0  # s; what has a deadline below 1 s ends by then, and what hangs does not
LONG_TTL = 20_000_000_000  # ns; of a lease that does not end by then


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Poll until the condition is true or the time is over, and return its last value."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.002)
    return met
