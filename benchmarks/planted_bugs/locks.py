"""Wrong locks on Redis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.client import Grant, Session
from workloads.locks import redis
from workloads.locks.polling import PolledLease, PollingLock
from workloads.redis_connection import connection
from workloads.settings import LockSettings

_GRANT = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return tonumber(redis.call('GET', KEYS[2]) or 0)
"""
_RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('INCR', KEYS[2])
return redis.call('DEL', KEYS[1])
"""


class TokenCountedByTheRelease:
    """The counter rises when a lock is released; one whose lease has ended never was."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _CountedByTheRelease(settings)
        self._lock = PollingLock(service, redis.RedisLockService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _CountedByTheRelease:
    def __init__(self, settings: LockSettings) -> None:
        self._connection = connection(settings)
        self._ttl = settings.ttl  # ns

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Set the key if it is absent, and read the counter, in one script."""
        milliseconds = self._ttl // redis.MILLISECOND
        token = self._connection.execute("EVAL", _GRANT, 2, *_keys(resource), owner, milliseconds)
        return None if token is None else PolledLease(token=token, ttl=self._ttl, credential=owner)

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - it is the owner
        """Delete the key and count, if it is the owner's."""
        return bool(self._connection.execute("EVAL", _RELEASE, 2, *_keys(resource), owner))

    def close(self) -> None:
        """Drop the connection: the next command opens a new one."""
        self._connection.close()


def _keys(resource: str) -> tuple[str, str]:
    return redis.lock_key(resource), redis.token_key(resource)


class OldTokenAgain:
    """A client that keeps its token until it has released the lock, also if it lost the lock."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = redis.connect(settings, renewals)
        self._tokens: dict[str, int | None] = {}

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock, and take the token that is still there."""
        grant = self._lock.acquire(resource, owner)
        return replace(grant, token=self._tokens.setdefault(resource, grant.token))

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if we still hold it, and forget the token; NotApplied if we do not."""
        self._lock.release(resource, owner)
        del self._tokens[resource]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
