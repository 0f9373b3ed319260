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

from workloads.client import NotApplied, Session
from workloads.locks.redis import RedisLock, lock_key
from workloads.locks.renewals import Renewals
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

METRIC = 0.14  # seconds; about as long as the work under the lock


class GetThenDelUnlock:
    """Redis' lock, given back with two commands."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._connection, renewing = (
            RedisConnection(settings.endpoints[0], settings.timeout) for _ in range(2)
        )
        self._renewals = Renewals(renewals, settings.ttl, renewing.close)
        self._lock = RedisLock(self._connection, renewing, self._renewals, settings.ttl)

    def release(self, resource: str, owner: str) -> None:
        """Delete the key if it was still mine a moment ago."""
        self._renewals.stop()
        if self._connection.execute("GET", lock_key(resource)) != owner:
            raise NotApplied(f"{owner} is not the holder")
        time.sleep(METRIC)
        self._connection.execute("DEL", lock_key(resource))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
