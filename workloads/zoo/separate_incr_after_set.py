"""The lock by SET NX PX, and then its token by INCR, in a command of its own.

Two round trips for one grant. If the client is paused between them for longer than the
lease, another client takes the lock and counts first; then INCR gives the newer token to
the older lock, and the storage believes the client that has lost the lock and refuses the
one that has it.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.polled import Held, PolledLock
from workloads.locks.redis import MILLISECOND, RedisService, lock_key, token_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class SeparateIncrAfterSet:
    """Redis' lock, whose token is counted once the lock is set."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _SetThenIncr(settings, renewals)
        self._lock = PolledLock(service, RedisService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _SetThenIncr:
    def __init__(self, settings: LockSettings, session: Session) -> None:
        self._service = RedisService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)
        self._session = session
        self._ttl = settings.ttl  # ns

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Set the key if it is absent, and count."""
        expiry = ("PX", self._ttl // MILLISECOND)
        if not self._connection.execute("SET", lock_key(resource), owner, "NX", *expiry):
            return None
        self._session.granted(resource, owner)
        token = self._connection.execute("INCR", token_key(resource))
        return Held(token=token, ttl=self._ttl, credential=owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
