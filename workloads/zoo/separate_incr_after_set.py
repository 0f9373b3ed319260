"""The lock by SET NX PX, and then its token by INCR, in a separate command.

That takes two round trips per grant. If the client is paused between them for longer than the
lease, another client takes the lock and increments first; then INCR gives the newer token to
the older lock. The storage accepts the client that has lost the lock, and refuses the one
that holds it.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.polling import PolledLease, PollingLock
from workloads.locks.redis import MILLISECOND, RedisLockService, lock_key, token_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class SeparateIncrAfterSet:
    """The Redis lock, whose token is counted after the lock is set."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _SetThenIncr(settings, renewals)
        self._lock = PollingLock(service, RedisLockService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _SetThenIncr:
    def __init__(self, settings: LockSettings, session: Session) -> None:
        self._service = RedisLockService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)
        self._session = session
        self._ttl = settings.ttl  # ns

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Set the key if it is absent, then increment the counter."""
        expiry = ("PX", self._ttl // MILLISECOND)
        if not self._connection.execute("SET", lock_key(resource), owner, "NX", *expiry):
            return None
        self._session.granted(resource, owner)
        token = self._connection.execute("INCR", token_key(resource))
        return PolledLease(token=token, ttl=self._ttl, credential=owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
