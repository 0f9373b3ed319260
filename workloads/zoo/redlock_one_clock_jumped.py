"""Redlock, whose leases end when the clocks of its servers say so.

A lock needs a majority of five servers, so two simultaneous locks always share a server. If that
server's wall clock jumps ahead (an operator, a migrated virtual machine, NTP after a long
outage), its key expires immediately and it grants again, to a client that gets its majority this
way. No care on the client's side prevents that.

This requires that the first lock has a bare majority. It does when two servers are down or
cut off; here because a client asks the nearest servers first, and stops at a majority.
"""

from __future__ import annotations

from typing import Any

from workloads.client import NotApplied, Session
from workloads.locks.redis import GRANT
from workloads.locks.redlock import SERVER_TIMEOUT, Redlock
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings


class RedlockOneClockJumped:
    """Redlock that asks only a majority; for half of the clients the last server is the nearest."""

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
    def __init__(self, endpoint: str, password: str, granted: set[str], majority: int) -> None:
        self._connection = RedisConnection(endpoint, SERVER_TIMEOUT, password)
        self._endpoint = endpoint
        self._granted = granted  # servers that have granted; shared by all
        self._majority = majority

    def execute(self, *command: str | int) -> Any:
        """Send one command; NotApplied if it requests a lock that a majority has granted."""
        asks = GRANT in command
        if not asks:
            self._granted.clear()
        elif len(self._granted) >= self._majority:
            raise NotApplied("a majority has granted")
        answer = self._connection.execute(*command)
        if asks and answer:
            self._granted.add(self._endpoint)
        return answer

    def close(self) -> None:
        """Drop the connection."""
        self._connection.close()
