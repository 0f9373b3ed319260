"""A cron's lock whose lease is never renewed: it has to outlast every job.

`SET cron NX PX` with a lease that is longer than a job usually takes, and nothing that extends it. One day a
job takes longer. The lock is free while it still runs, and the next worker finds the job without a
result and runs it, too. It takes no pause, no partition and no crash.
"""

from __future__ import annotations

import time

from workloads.client import Grant, NotApplied, Session
from workloads.locks.polling import PATIENCE, POLL
from workloads.locks.redis import RedisLockService
from workloads.settings import LockSettings


class LeaseThatIsNeverRenewed:
    """The Redis lock without its renewals."""

    def __init__(self, settings: LockSettings, _session: Session) -> None:
        self._service = RedisLockService(settings)
        self._ttl = settings.ttl  # ns

    def acquire(self, resource: str, owner: str) -> Grant:
        """Poll until the lock is free; NotApplied after three TTLs."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        while time.monotonic_ns() < deadline:
            attempt = time.monotonic_ns()
            if lease := self._service.try_lock(resource, owner):
                return Grant(token=lease.token, ttl=lease.ttl, attempt=attempt)
            time.sleep(POLL)
        raise NotApplied("not free in time")

    def release(self, resource: str, owner: str) -> None:
        """Release the lock; NotApplied if its lease has ended."""
        if not self._service.release(resource, owner, None):
            raise NotApplied(f"{owner} is not the holder")

    revoke = release

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()

    close = reconnect
