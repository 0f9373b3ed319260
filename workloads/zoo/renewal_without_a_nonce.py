"""A lock in S3 whose renewal puts the same bytes again.

Its clients do not trust clocks: a waiter takes the lock over once the object has not changed
for a whole TTL. But an ETag is the MD5 of the bytes, so a renewal without a nonce changes
nothing that the waiter can see, and If-Match accepts the takeover from a holder that lives.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import NotApplied, Session
from workloads.locks.polling import PolledLease, PollingLock
from workloads.locks.s3 import lock_key
from workloads.s3_bucket import Bucket
from workloads.settings import LockSettings
from workloads.stored_object import LostRaceError, StoredObject


class RenewalWithoutANonce:
    """A lock in S3 that is taken over once its object has not changed for a TTL."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        held: dict[str, StoredObject] = {}
        calls, renewing = (_Watched(settings, held) for _ in range(2))
        self._lock = PollingLock(calls, renewing, renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _Watched:
    def __init__(self, settings: LockSettings, held: dict[str, StoredObject]) -> None:
        self._bucket = Bucket(settings, nonce=lambda: "")
        self._ttl = settings.ttl  # ns
        self._held = held
        self._seen: dict[str, tuple[str, int]] = {}  # by resource: the ETag, and since when (ns)

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free, or if its object has not changed for a TTL."""
        found = self._bucket.get(lock_key(resource), self._bucket.deadline())
        if found and found.content["owner"] and self._unchanged(resource, found.version) < self._ttl:
            return None
        epoch = found.content["epoch"] + 1 if found else 1
        try:
            self._put(resource, found, {"owner": owner, "epoch": epoch})
        except LostRaceError:
            return None
        return PolledLease(token=epoch, ttl=self._ttl, credential=owner)

    def _unchanged(self, resource: str, etag: str) -> int:
        now = time.monotonic_ns()
        if self._seen.get(resource, ("", 0))[0] != etag:
            self._seen[resource] = (etag, now)
        return now - self._seen[resource][1]

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - as in the protocol
        """Put what is there once more."""
        mine = self._held[resource]
        try:
            self._put(resource, mine, mine.content)
        except LostRaceError as error:
            raise NotApplied("lease lost") from error
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - as above
        """Put the object without an owner."""
        mine = self._held[resource]
        if mine.content["owner"] != owner:
            return False
        try:
            self._put(resource, mine, {"owner": "", "epoch": mine.content["epoch"]})
        except LostRaceError:
            return False
        return True

    def _put(self, resource: str, old: StoredObject | None, content: dict[str, Any]) -> None:
        self._held[resource] = self._bucket.replace(lock_key(resource), old, content, self._bucket.deadline())

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._bucket.close()
