"""Redlock, whose leases end when the clocks of its servers say so.

Most of five servers make a lock, so two locks at once always have a server in common. If
that one's wall clock jumps ahead (an operator, a virtual machine moved, NTP after a long
silence), the key on it expires at once and the server grants again, to somebody who gets
most of the five with it. No care on the client's side mends that.

For that the first lock has to stand on no more servers than needed. It does when two are
down or cut off; here because a client asks the nearest first, and none in vain.
"""

from __future__ import annotations

from typing import Any

from workloads.client import NotApplied, Session
from workloads.locks.redis import GRANT
from workloads.locks.redlock import SERVER_TIMEOUT, Redlock
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class RedlockOneClockJumped:
    """Redlock that asks no more servers than needed; for half of its clients the last is the nearest."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        nearest_first = settings.endpoints[:: -1 if settings.client % 2 else 1]
        granted: set[str] = set()
        servers: Any = [
            _Server(each, settings.password, granted, len(nearest_first) // 2 + 1) for each in nearest_first
        ]
        renewing = [RedisConnection(each, SERVER_TIMEOUT, settings.password) for each in nearest_first]
        self._lock = Redlock(servers, renewing, renewals, settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _Server:
    def __init__(self, endpoint: str, password: str, granted: set[str], most: int) -> None:
        self._connection = RedisConnection(endpoint, SERVER_TIMEOUT, password)
        self._endpoint = endpoint
        self._granted = granted  # the servers that have granted, of all
        self._most = most

    def execute(self, *command: str | int) -> Any:
        """Send one command; NotApplied if it asks for a lock that most servers have granted."""
        asks = GRANT in command
        if not asks:
            self._granted.clear()
        elif len(self._granted) >= self._most:
            raise NotApplied("most have granted")
        answer = self._connection.execute(*command)
        if asks and answer:
            self._granted.add(self._endpoint)
        return answer

    def close(self) -> None:
        """Drop the connection."""
        self._connection.close()
