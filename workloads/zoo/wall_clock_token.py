"""A clock reading as the fencing token.

`token = time.time_ns()` needs no counter and no round trip, and it does rise. But it is read
when the client requests the lock, not when it is granted: the client that waited longest has
the oldest token. A clock that is read at the grant is no better once there are two machines,
or one whose clock is set back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from workloads.client import Grant, Session
from workloads.locks import redis
from workloads.settings import LockSettings


class WallClockToken:
    """The Redis lock with a token made by the client."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = redis.connect(settings, renewals)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Note the time, and wait for the lock."""
        asked = time.time_ns()
        return replace(self._lock.acquire(resource, owner), token=asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
