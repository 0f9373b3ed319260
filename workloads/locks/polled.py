"""A lock whose service is asked again and again, and which is kept by renewals.

It goes with any service that answers at once whether the lock was free, and promises a
lease from then on: `LockService` is all that differs.
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
class Held:
    """What a service answers to whom it gives the lock."""

    token: int
    ttl: int  # ns
    credential: str  # shows that it is the holder who renews and releases


class LockService(Protocol):
    """What a lock service does in one request each, over one connection.

    Everything raises NotApplied where the service certainly did nothing, Unknown where
    nobody knows.
    """

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Take the lock if it is free; None if somebody has it."""

    def renew(self, resource: str, owner: str, credential: str) -> int:
        """Begin the lease again and return its length in ns; NotApplied if it is lost."""

    def release(self, resource: str, owner: str, credential: str | None) -> bool:
        """Give the lock back; was it the owner's?

        Without a credential, what an unanswered request of the owner may have got.
        """

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""


class PolledLock:
    """One client of the lock: a hold at a time."""

    def __init__(self, service: LockService, renewing: LockService, session: Session, ttl: int) -> None:
        self._service = service
        self._renewing = renewing
        self._renewals = Renewals(session, ttl, renewing.close)
        self._ttl = ttl  # ns
        self._credential: str | None = None

    def acquire(self, resource: str, owner: str) -> Grant:
        """Ask until the lock was free; NotApplied when it was not in three TTLs."""
        self._credential = None
        held, attempt = self._granted(resource, owner)
        self._credential = held.credential
        self._renewals.begin(resource, owner)
        self._renewals.keep(lambda: {"ttl": self._renewing.renew(resource, owner, held.credential)})
        return Grant(token=held.token, ttl=held.ttl, attempt=attempt)

    def _granted(self, resource: str, owner: str) -> tuple[Held, int]:
        """Return what was granted, and when that was asked for."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        while True:
            attempt = time.monotonic_ns()
            held = self._service.try_lock(resource, owner)
            if held is not None:
                return held, attempt
            if time.monotonic_ns() > deadline:
                raise NotApplied("not free in time")
            time.sleep(POLL)

    def release(self, resource: str, owner: str) -> None:
        """Give it back if it is still mine; NotApplied if it is not."""
        if not self._release(resource, owner):
            raise NotApplied(f"{owner} is not the holder")

    def revoke(self, resource: str, owner: str) -> None:
        """Give back what an acquire that nobody knows the end of may have got."""
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
