"""A lock service of the user's own, over HTTP: POST acquire, renew and release.

The token is the number that comes with each grant. The lease is as long as the service
says, from when the granted request was sent: no clock of the service is looked at.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from checkers.reading.lines import Token
from workloads.client import Session, Unknown
from workloads.http_connection import HttpConnection
from workloads.http_contract import MILLISECOND, Done, HttpService, Milliseconds, RefusedError
from workloads.locks.polled import Held, PolledLock
from workloads.settings import LockSettings


class LockAnswer(Struct, frozen=True, kw_only=True):
    """The answer to an acquire and to a renew; who gets the lock is told the rest too."""

    resource_id: str
    lock_acquired: bool
    lock_token: Annotated[str, Meta(min_length=1)] | None = None
    fencing_token: Token | None = None
    lease_duration_ms: Milliseconds | None = None


class HttpLockService:
    """What the service is asked, over one connection."""

    def __init__(self, service: HttpService, ttl: int) -> None:
        self._service = service
        self._milliseconds = ttl // MILLISECOND

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Take the lock if it is free; None if somebody has it."""
        answer = self._service.ask(
            "/acquire", resource, LockAnswer, owner=owner, lease_duration_ms=self._milliseconds
        )
        return _held(answer) if answer.lock_acquired else None

    def renew(self, resource: str, owner: str, credential: str) -> int:
        """Begin the lease again and return its length in ns; NotApplied if it is lost."""
        answer = self._service.ask(
            "/renew",
            resource,
            LockAnswer,
            owner=owner,
            lock_token=credential,
            lease_duration_ms=self._milliseconds,
        )
        return _held(answer).ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:
        """Give the lock back; was it the owner's?"""
        try:
            self._service.ask("/release", resource, Done, owner=owner, lock_token=credential)
        except RefusedError:
            return False
        return True

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()


def _held(answer: LockAnswer) -> Held:
    lock_token, token, lease = answer.lock_token, answer.fencing_token, answer.lease_duration_ms
    if not answer.lock_acquired or lock_token is None or token is None or lease is None:
        raise Unknown(f"it says neither that the lock is another's nor all that goes with it: {answer}")
    return Held(token=token, ttl=lease * MILLISECOND, credential=lock_token)


def connect(settings: LockSettings, renewals: Session) -> PolledLock:
    """Make a client with two connections: one for the hold, one for what renews it."""
    held, renewing = (
        HttpLockService(
            HttpService(HttpConnection(settings.endpoints[0], settings.timeout), settings.run), settings.ttl
        )
        for _ in range(2)
    )
    return PolledLock(held, renewing, renewals, settings.ttl)
