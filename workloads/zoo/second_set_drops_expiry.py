"""A second SET on the key that is the lock: who holds it, and since when, for the operators' sake.

SET takes a key's expiry away unless it is given another one (or KEEPTTL). Until the first
renewal brings it back, this lock does not end by itself. Nobody notices, since holders give
it back; until one dies, or stands still for long, and all others wait for ever.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.polled import Held, PolledLock
from workloads.locks.redis import RedisService, lock_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class SecondSetDropsExpiry:
    """Redis' lock, signed by whoever has got it."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _Signing(settings)
        self._lock = PolledLock(service, RedisService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _Signing:
    def __init__(self, settings: LockSettings) -> None:
        self._service = RedisService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Take the lock if it is free, and then sign it."""
        held = self._service.try_lock(resource, owner)
        if held is not None:
            self._connection.execute("SET", lock_key(resource), owner, "XX")
        return held

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
