"""A lock client that polls a service until the lock is free, then renews its lease.

It fits any service that answers immediately whether the lock was free, and grants a lease:
implement `LockService` for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from workloads.client import Grant, NotApplied, Session
from workloads.locks.renewals import Renewals

PATIENCE = 3  # TTLs that an acquire waits for the lock
POLL = 0.02  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledLease:
    """A lock that the service granted."""

    token: int | None  # None if the service gives none
    ttl: int | None  # ns; None if the service promises nothing
    credential: str  # identifies the holder when it renews or releases


class LockService(Protocol):
    """The operations of a lock service, one request each, over one connection.

    Each raises NotApplied if the service certainly did nothing, Unknown if that is not certain.
    """

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free; None if it is taken."""

    def renew(self, resource: str, owner: str, credential: str) -> int | None:
        """Restart the lease and return its length (ns), None if it is not promised; NotApplied if lost."""

    def release(self, resource: str, owner: str, credential: str | None) -> bool:
        """Release the lock; False if the owner did not hold it.

        Without a credential, release a lock that an unanswered request may have taken.
        """

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""


class PollingLock:
    """One client of the lock; holds one lock at a time."""

    def __init__(
        self,
        service: LockService,
        renewing: LockService,
        session: Session,
        ttl: int,
        *,
        is_promised: bool = True,
    ) -> None:
        """`ttl` is the lease that is renewed in time (ns), whether the service promises it or not."""
        self._service = service
        self._renewing = renewing
        self._ttl = ttl
        self.asks_for = ttl if is_promised else None
        self._renewals = Renewals(session, ttl, renewing.close, self.asks_for)
        self._credential: str | None = None

    def acquire(self, resource: str, owner: str) -> Grant:
        """Poll until the lock is free; NotApplied after three TTLs."""
        self._credential = None
        lease, attempt = self._granted(resource, owner)
        self._credential = lease.credential
        self._renewals.begin(resource, owner)
        self._renewals.keep(lambda: {"ttl": self._renewing.renew(resource, owner, lease.credential)})
        return Grant(token=lease.token, ttl=lease.ttl, attempt=attempt)

    def _granted(self, resource: str, owner: str) -> tuple[PolledLease, int]:
        """Return the granted lease, and when its request was sent (ns)."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        while True:
            attempt = time.monotonic_ns()
            lease = self._service.try_lock(resource, owner)
            if lease is not None:
                return lease, attempt
            if time.monotonic_ns() > deadline:
                raise NotApplied("not free in time")
            time.sleep(POLL)

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if we still hold it; NotApplied if we do not."""
        if not self._release(resource, owner):
            raise NotApplied(f"{owner} is not the holder")

    def revoke(self, resource: str, owner: str) -> None:
        """Release a lock that an acquire with unknown outcome may have taken."""
        self._release(resource, owner)

    def _release(self, resource: str, owner: str) -> bool:
        self._renewals.stop()
        return self._service.release(resource, owner, self._credential)

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()

    def close(self) -> None:
        """Stop the renewals, and drop both connections."""
        self._renewals.close(self._renewing.close)
        self._service.close()
