"""Poll to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0  # s; a guard: it costs nothing where the condition comes true


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Poll until the condition is true or the time is over, and return it."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.002)
    return met
