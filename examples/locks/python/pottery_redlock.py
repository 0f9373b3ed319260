"""pottery's Redlock: most of five Redis servers have to grant. It has no fencing token."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any, ClassVar

from pottery import Redlock
from pottery.exceptions import QuorumNotAchieved, ReleaseUnlockedLock
from protocol import Failed, Fields, serve
from redis import Redis, RedisError
from redis_server import connect


class TimedRedis(Redis):
    """Keeps when the first SET of each round of requests was sent: a granted lease counts from there."""

    rounds: ClassVar[dict[str, int]] = {}  # by the value, which is new in each round
    errors: ClassVar[list[RedisError]] = []  # pottery hides them

    def set(self, name: Any, value: Any, *words: Any, **options: Any) -> Any:
        """Send SET."""
        self.rounds.setdefault(value, time.monotonic_ns())
        try:
            return super().set(name, value, *words, **options)
        except RedisError as error:
            self.errors.append(error)
            raise


class PotteryRedlock:
    """The lock, without extensions; the object that took a lock releases it."""

    versions = {"pottery": version("pottery")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        self._ttl_ms = start["lock"]["ttl_ms"]
        self._held: dict[str, Redlock] = {}
        each = (
            start["timeout_ms"] / 4000
        )  # s; after a round of SETs without most answers, pottery takes it back
        self._masters = frozenset(
            connect(TimedRedis, endpoint, start, socket_timeout=each)
            for endpoint in start["lock"]["endpoints"]
        )

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock; pottery promises 1 % and 2 ms less than the expiry, for the drift of clocks."""
        lock = Redlock(key=resource, masters=self._masters, auto_release_time=self._ttl_ms / 1000)
        self._held[owner] = lock
        TimedRedis.rounds.clear()
        TimedRedis.errors.clear()
        if not lock.acquire(timeout=wait):
            raise TimedRedis.errors[0] if TimedRedis.errors else Failed("not free in time")
        attempt = TimedRedis.rounds[lock._uuid]  # noqa: SLF001 (pottery shows it nowhere)
        return {"token": None, "ttl_ms": int(self._ttl_ms * 0.99) - 2, "attempt_ns": attempt}

    def release(self, _resource: str, owner: str) -> None:
        """Release the lock with the object that took it."""
        lock = self._held.pop(owner, None)
        if lock is None:
            raise Failed("it was not taken")
        try:
            lock.release()
        except ReleaseUnlockedLock as error:
            raise Failed(str(error)) from error
        except QuorumNotAchieved as error:
            raise TimeoutError(str(error)) from error

    revoke = release

    def reconnect(self) -> None:
        """Drop all connections."""
        for master in self._masters:
            master.connection_pool.disconnect()


if __name__ == "__main__":
    serve(PotteryRedlock)
