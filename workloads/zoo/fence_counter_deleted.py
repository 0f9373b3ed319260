"""A release that cleans up: it deletes the fencing counter together with the lock.

The lock created two keys, so the release deletes two, and leaves nothing behind in Redis.
The next grant counts from 1 again: every holder has the same token, and no fence can tell
them apart. An EXPIRE on the counter does the same after a long time without a grant.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks import redis
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class FenceCounterDeleted:
    """The Redis lock, whose counter is deleted with each release."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = redis.connect(settings, renewals)
        self._tidying = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def release(self, resource: str, owner: str) -> None:
        """Release the lock, and leave nothing behind."""
        self._lock.release(resource, owner)
        self._tidying.execute("DEL", redis.token_key(resource))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
