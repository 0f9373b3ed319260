"""An unlock in two steps: GET, compare in the client, DEL.

`if redis.get(key) == me: redis.delete(key)` looks as careful as the script that compares and
deletes in one step. But the lease may end between the two, and then DEL frees the lock of
whoever has it by now; a third client gets it while the second still works.

What lies between them in real programs (a log line, a metric sent over the network, a
garbage collection) is a sleep here.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import Session
from workloads.locks.polled import PolledLock
from workloads.locks.redis import RedisService, lock_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

METRIC = 0.14  # seconds; about as long as the work under the lock


class GetThenDelUnlock:
    """Redis' lock, given back with two commands."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _GetThenDel(settings)
        self._lock = PolledLock(service, RedisService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _GetThenDel:
    def __init__(self, settings: LockSettings) -> None:
        self._service = RedisService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002
        """Delete the key if it was the owner's a moment ago."""
        if self._connection.execute("GET", lock_key(resource)) != owner:
            return False
        time.sleep(METRIC)
        return bool(self._connection.execute("DEL", lock_key(resource)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
