"""Renewals by a plain PEXPIRE, which are believed for a whole TTL from when they are answered.

The client seems careful: it sends a renewal only while its own clock says that it holds the lock,
so it sees no need to compare the owner in the same step. That does stop a client that was paused.
But a renewal that was sent in time can be held up in the network. It arrives when the key is
another client's, extends that, and its OK makes the late holder believe in its lease again. Its next
renewals are answered in the same way, for as long as any client holds the lock.

The lease must be counted from when the renewal was sent, and a script must compare the owner.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import NotApplied, Session
from workloads.locks.polling import PolledLease, PollingLock
from workloads.locks.redis import MILLISECOND, RedisLockService, lock_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class LateRenewalTakenAsValid:
    """The Redis lock, whose renewals compare no owner."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        renewing: Any = _ByOwnClock(settings)
        service: Any = _NotingGrants(RedisLockService(settings), renewing)
        self._lock = PollingLock(service, renewing, renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _ByOwnClock:
    def __init__(self, settings: LockSettings) -> None:
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)
        self._ttl = settings.ttl  # ns
        self._valid_until = 0  # ns, CLOCK_MONOTONIC

    def answered(self) -> None:
        """Believe in the lease for a whole TTL from now on."""
        self._valid_until = time.monotonic_ns() + self._ttl

    def renew(self, resource: str, _owner: str, _credential: str) -> int:
        """Restart the key's expiry, unless the lease has ended by our own clock."""
        if time.monotonic_ns() > self._valid_until:
            raise NotApplied("lease over")
        if not self._connection.execute("PEXPIRE", lock_key(resource), self._ttl // MILLISECOND):
            raise NotApplied("lease lost")
        self.answered()
        return self._ttl

    def close(self) -> None:
        """Drop the connection."""
        self._connection.close()


class _NotingGrants:
    def __init__(self, service: RedisLockService, renewing: _ByOwnClock) -> None:
        self._service = service
        self._renewing = renewing

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free."""
        lease = self._service.try_lock(resource, owner)
        if lease is not None:
            self._renewing.answered()
        return lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
