"""A second SET on the lock's key, which tells operators who holds the lock and since when.

SET removes a key's expiry unless it sets another one (or uses KEEPTTL). Until the first
renewal restores it, this lock does not expire. That has no effect as long as holders release it;
but when one dies, or is paused for long, all others wait forever.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.polling import PolledLease, PollingLock
from workloads.locks.redis import RedisLockService, lock_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class SecondSetDropsExpiry:
    """The Redis lock, signed by its holder."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _Signing(settings)
        self._lock = PollingLock(service, RedisLockService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _Signing:
    def __init__(self, settings: LockSettings) -> None:
        self._service = RedisLockService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free, and then sign it."""
        lease = self._service.try_lock(resource, owner)
        if lease is not None:
            self._connection.execute("SET", lock_key(resource), owner, "XX")
        return lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
