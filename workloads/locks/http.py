"""A user's own lock service over HTTP: POST acquire, renew and release.

Each grant carries the token. The lease lasts as long as the service says, from the moment
the successful request was sent: the service's clock does not matter.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from checkers.history.lines import Token
from checkers.text.printable import shorten
from workloads.client import Session, Unknown
from workloads.http_connection import HttpConnection
from workloads.http_contract import MILLISECOND, Acknowledgement, HttpService, Milliseconds, RefusedError
from workloads.locks.polling import PolledLease, PollingLock
from workloads.settings import LockSettings


class LockAnswer(Struct, frozen=True, kw_only=True):
    """The answer to an acquire or a renew; only the holder gets the last three fields."""

    resource_id: str
    lock_acquired: bool
    lock_token: Annotated[str, Meta(min_length=1)] | None = None
    fencing_token: Token | None = None
    lease_duration_ms: Milliseconds | None = None


class HttpLockService:
    """The requests to the service, over one connection."""

    def __init__(self, service: HttpService, ttl: int, *, gives_tokens: bool) -> None:
        self._service = service
        self._gives_tokens = gives_tokens
        self._milliseconds = ttl // MILLISECOND

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free; None if it is taken."""
        answer = self._service.request(
            "/acquire", resource, LockAnswer, owner=owner, lease_duration_ms=self._milliseconds
        )
        return self._lease(answer) if answer.lock_acquired else None

    def renew(self, resource: str, owner: str, credential: str) -> int | None:
        """Restart the lease and return its length (ns); NotApplied if it is lost."""
        answer = self._service.request(
            "/renew",
            resource,
            LockAnswer,
            owner=owner,
            lock_token=credential,
            lease_duration_ms=self._milliseconds,
        )
        return self._lease(answer).ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:
        """Release the lock; False if the owner did not hold it."""
        try:
            self._service.request("/release", resource, Acknowledgement, owner=owner, lock_token=credential)
        except RefusedError:
            return False
        return True

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()

    def _lease(self, answer: LockAnswer) -> PolledLease:
        lock_token, token, lease = answer.lock_token, answer.fencing_token, answer.lease_duration_ms
        lacks_token = token is None and self._gives_tokens
        if not answer.lock_acquired or lock_token is None or lacks_token or lease is None:
            raise Unknown(f"neither a refusal nor a complete grant: {shorten(str(answer))}")
        return PolledLease(token=token, ttl=lease * MILLISECOND, credential=lock_token)


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections: one for the lock, one for its renewals."""
    calls, renewing = (
        HttpLockService(
            HttpService(HttpConnection(settings.endpoints[0], settings.timeout), settings.run),
            settings.ttl,
            gives_tokens=settings.token != "none",  # noqa: S105 - no password
        )
        for _ in range(2)
    )
    return PollingLock(calls, renewing, renewals, settings.ttl)
