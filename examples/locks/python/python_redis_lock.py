"""python-redis-lock: a key with an expiry, and a list that wakes waiting clients. It has no fencing token."""

from __future__ import annotations

import time
from importlib.metadata import version

from protocol import Failed, Fields, serve
from redis_lock import Lock, NotAcquired
from redis_server import connect

TURN = 1  # s; whole seconds, and not above the expiry


class PythonRedisLock:
    """The lock, without its renewal thread."""

    versions = {"python-redis-lock": version("python-redis-lock")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        self._expire = start["lock"]["ttl_ms"] // 1000
        turn = TURN + start["timeout_ms"] / 1000  # a waiting client's BLPOP takes one
        self._redis = connect(start["lock"]["endpoints"][0], start, socket_timeout=turn)

    def _lock(self, resource: str, owner: str) -> Lock:
        return Lock(self._redis, resource, expire=self._expire, id=owner)

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock."""
        until = time.monotonic() + wait
        lock = self._lock(resource, owner)
        turn = {"timeout": TURN} if wait >= TURN else {"blocking": False}
        while not lock.acquire(**turn):
            if time.monotonic() + TURN > until:
                raise Failed("not free in time")
        return {"token": None, "ttl_ms": self._expire * 1000, "attempt_ns": self._redis.sent[owner]}

    def release(self, resource: str, owner: str) -> None:
        """Release the lock by its owner, also after a new connection."""
        try:
            self._lock(resource, owner).release()
        except NotAcquired as error:
            raise Failed(str(error)) from error

    revoke = release

    def reconnect(self) -> None:
        """Drop all connections."""
        self._redis.connection_pool.disconnect()


if __name__ == "__main__":
    serve(PythonRedisLock)
