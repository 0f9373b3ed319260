"""redis-py's Lock, which has no fencing token: as it is, or with the usual home-made one, INCR after it."""

from __future__ import annotations

import redis
from protocol import Failed, Fields, granted, serve
from redis.exceptions import LockError
from redis.lock import Lock
from redis_server import connect


class RedisPyLock:
    """The lock, and a counter for each resource."""

    versions = {"redis-py": redis.__version__}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        self._ttl_ms = start["lock"]["ttl_ms"]
        self._gives_token = start["lock"]["token"] != "none"  # noqa: S105 (no password)
        self._redis = connect(start["lock"]["endpoints"][0], start)

    def _lock(self, resource: str) -> Lock:
        return Lock(self._redis, f"lock:{resource}", timeout=self._ttl_ms / 1000, sleep=0.02)

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock, then its token if it has one."""
        if not self._lock(resource).acquire(blocking_timeout=wait, token=owner):
            raise Failed("not free in time")
        attempt = self._redis.sent[owner.encode()]
        token = None
        if self._gives_token:
            granted()
            token = self._redis.incr(f"token:{resource}")
        return {"token": token, "ttl_ms": self._ttl_ms, "attempt_ns": attempt}

    def release(self, resource: str, owner: str) -> None:
        """Release the lock by its owner, also after a new connection."""
        lock = self._lock(resource)
        lock.local.token = owner.encode()
        try:
            lock.release()
        except LockError as error:
            raise Failed(str(error)) from error

    revoke = release

    def reconnect(self) -> None:
        """Drop all connections."""
        self._redis.connection_pool.disconnect()


if __name__ == "__main__":
    serve(RedisPyLock)
