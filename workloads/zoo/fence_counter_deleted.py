"""A release that tidies up: it deletes the fencing counter together with the lock.

Two keys were made for the lock, so two are deleted, and nothing is left behind in Redis. The
next grant counts from 1 again: every holder has the same token, by which no fence can tell
one from another. An EXPIRE on the counter does the same, once nobody took the lock for so
long.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks import redis
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class FenceCounterDeleted:
    """Redis' lock, whose counter goes with each release."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = redis.connect(settings, renewals)
        self._tidying = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def release(self, resource: str, owner: str) -> None:
        """Give the lock back, and leave nothing behind."""
        self._lock.release(resource, owner)
        self._tidying.execute("DEL", redis.token_key(resource))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
