"""portalocker's RedisLock: a subscription is the lock, and a holder that answers no ping is disconnected.

Its token is the INCR of `fencing=True`, a second request after the grant. Before 4.2 it had none.
"""

from __future__ import annotations

import contextlib
import inspect
import signal
from importlib.metadata import version
from typing import Any

from attempts import until_granted
from portalocker.exceptions import AlreadyLocked
from portalocker.redis import RedisLock
from protocol import Failed, Fields, granted, serve
from redis_server import connect

RETRY = 0.05  # s


class Reported(RedisLock):
    """Reports the moment between the grant and its token."""

    def _draw_fence_token(self, connection: Any) -> None:
        if self.fencing:
            granted()
        super()._draw_fence_token(connection)


class PortalockerRedis:
    """The lock; the object that took a lock releases it."""

    versions = {name: version(name) for name in ("portalocker", "redis")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        can_fence = "fencing" in inspect.signature(RedisLock).parameters
        gives_token = can_fence and start["lock"]["token"] != "none"  # noqa: S105 (no password)
        self._options = {"fencing": True} if gives_token else {}
        endpoint = start["lock"]["endpoints"][0]
        self._redis = connect(endpoint, start, decode_responses=True, health_check_interval=10)
        self._held: dict[str, RedisLock] = {}
        self._interrupted = False
        signal.signal(signal.SIGINT, self._note)  # a loss interrupts the main thread

    def _note(self, *_signal: object) -> None:
        self._interrupted = True

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock, which lasts as long as its connection and promises no length."""
        lock = self._held[owner] = Reported(f"lock:{resource}", self._redis, **self._options)
        _, sent = until_granted(wait, lambda: self._is_granted(lock), RETRY)
        token = lock.fence_token if self._options else None
        return {"token": token, "ttl_ms": None, "attempt_ns": sent}

    def _is_granted(self, lock: RedisLock) -> bool:
        self._interrupted = False
        try:
            lock.acquire(timeout=0)  # one attempt, which takes up to a second if the holder is silent
        except AlreadyLocked:
            return False
        return True

    def release(self, _resource: str, owner: str) -> None:
        """End the subscription, and say if the library had noticed that it was lost."""
        lock = self._held.pop(owner, None)
        if lock is None:
            raise Failed("it was not taken, or ended with its connection")
        lock.release()
        if getattr(lock, "lost", self._interrupted):  # 3.1 only interrupts
            raise Failed("it was lost")

    def revoke(self, _resource: str, owner: str) -> None:
        """End the subscription; that of a program that has ended is gone."""
        if lock := self._held.pop(owner, None):
            lock.release()

    def reconnect(self) -> None:
        """Drop all connections, and the locks with them."""
        for lock in self._held.values():
            with contextlib.suppress(Exception):  # it has the connection that is to go
                lock.release()
        self._held.clear()
        self._redis.connection_pool.disconnect()


if __name__ == "__main__":
    serve(PortalockerRedis)
