"""An unlock in two steps: GET, compare in the client, DEL.

`if redis.get(key) == me: redis.delete(key)` looks as careful as a script that compares and
deletes in one step. But the lease may end between the two, and then DEL releases the lock of
its next holder; a third client gets it while the second still works.

Between the two, real programs write a log line, send a metric or collect garbage; here they
sleep.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import Session
from workloads.locks.polling import PollingLock
from workloads.locks.redis import RedisLockService, lock_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

METRIC = 0.14  # seconds; about as long as the work under the lock


class GetThenDelUnlock:
    """The Redis lock, released with two commands."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _GetThenDel(settings)
        self._lock = PollingLock(service, RedisLockService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _GetThenDel:
    def __init__(self, settings: LockSettings) -> None:
        self._service = RedisLockService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - as in the protocol
        """Delete the key if it was the owner's a moment ago."""
        if self._connection.execute("GET", lock_key(resource)) != owner:
            return False
        time.sleep(METRIC)
        return bool(self._connection.execute("DEL", lock_key(resource)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
