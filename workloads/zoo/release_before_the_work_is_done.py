"""A service whose handler for SIGTERM gives its lock back at once, and only then completes its work.

That looks polite: the next instance need not wait for the lease. But a job is still running. It writes
after the lock has gone to another instance, and replaces what that one has written. A rolling deployment
does this to every holder, with no pause, no partition and no lease that ends.
"""

from __future__ import annotations

import signal
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

from workloads.client import Answer, Grant, NotApplied, Session
from workloads.locks import redis as redis_lock
from workloads.settings import LockSettings, StorageSettings
from workloads.storages import redis

_LONGEST = 600  # ms; of a job


class _OneAtATime:
    """A session that the renewals and the release share."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._calling = threading.Lock()

    def call(self, *arguments: Any, **fields: Any) -> Answer:
        """Record a call, after the one that is being recorded."""
        with self._calling:
            return self._session.call(*arguments, **fields)

    def granted(self, resource: str, owner: str) -> None:
        """Announce a grant."""
        self._session.granted(resource, owner)


class ReleasedAtOnce:
    """A lock in Redis that is released as soon as SIGTERM arrives, whatever its holder does."""

    def __init__(self, settings: LockSettings, session: Session) -> None:
        self._session = _OneAtATime(session)
        self._lock = redis_lock.connect(settings, self._session)
        self._releasing = redis_lock.RedisLockService(settings)
        self._held: tuple[str, str] | None = None
        self._thread = threading.Thread(target=self._release_now)
        self._has_released = False
        self._others: Any = signal.signal(signal.SIGTERM, self._stop)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock and take it."""
        grant: Grant = self._lock.acquire(resource, owner)
        self._held = (resource, owner)
        return grant

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if we still hold it."""
        self._held = None
        self._lock.release(resource, owner)

    def leave_in_order(self) -> bool:
        """Wait for the release; return whether there was one."""
        self._thread.join()
        return self._has_released

    def _stop(self, number: int, frame: Any) -> None:
        self._thread.start()
        self._others(number, frame)

    def _release_now(self) -> None:
        if self._held is not None:
            resource, owner = self._held

            def release() -> dict[str, Any]:
                if not self._releasing.release(resource, owner, None):
                    raise NotApplied("not the holder")
                return {}

            self._has_released = self._session.call("release", resource, release, owner=owner).ok

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class SlowJob:
    """A register in Redis, written at the end of a job that takes its time."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(settings)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Work, and write what comes of it; the value decides how long that takes."""
        sent()
        time.sleep(zlib.crc32(value.encode()) % _LONGEST / 1000)
        self._register.write(resource, token, value, lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
