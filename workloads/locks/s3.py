"""A lock in an S3 bucket: one object per resource, with its owner, epoch and expiry.

A client creates the object if there is none, and takes it over once it was released or has
expired, each by a PUT on the condition that it is still what the client read. The token is
the epoch, which rises with each grant. A release keeps it, so it is a PUT too: after a DELETE
the epoch would start again. (An ETag or a version is no token: nothing says that they rise.)

Expiry is compared with the client's own clock, the wall clock, because S3 has none that it
could be compared with. All clients of a run are on one host, and so share that clock.

A holder renews and releases on the condition of its own last PUT, without reading. Once it
does not know that one, or it no longer holds, it reads whose the lock is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polling import PolledLease, PollingLock
from workloads.s3_bucket import Bucket, LostRaceError, StoredObject
from workloads.settings import LockSettings, named

Held = dict[tuple[str, str], StoredObject]
"""By resource and owner: the last known PUT of a holder, for both connections of its client."""


class S3LockService:
    """The requests to one bucket, over one connection."""

    def __init__(
        self, bucket: Bucket, ttl: int, names: str, held: Held, clock: Callable[[], int] = time.time_ns
    ) -> None:
        """`clock` is the time by which leases expire (ns since 1970)."""
        self._bucket = bucket
        self._names = names
        self._ttl = ttl  # ns
        self._held = held
        self._clock = clock

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Read the object, and take it if it is free; None if it is taken."""
        deadline = self._bucket.deadline()
        found = self._read(resource, deadline)
        if found and found.content["expiry"] > self._clock():
            return None
        epoch = found.content["epoch"] + 1 if found else 1
        try:
            self._put(resource, owner, epoch, found, deadline)
        except LostRaceError:
            return None
        return PolledLease(token=epoch, ttl=self._ttl, credential=owner)

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - the owner is it
        """Put a later expiry and return the lease's length (ns); NotApplied if it is lost."""
        deadline = self._bucket.deadline()
        mine = self._held.get((resource, owner)) or self._mine(resource, owner, deadline)
        if mine is None:
            raise NotApplied("lease lost")
        try:
            self._put(resource, owner, mine.content["epoch"], mine, deadline)
        except LostRaceError as error:
            raise NotApplied("lease lost") from error
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - the owner is it
        """Put the object without an owner; False if it was not the owner's."""
        deadline = self._bucket.deadline()
        mine = self._held.pop((resource, owner), None) or self._mine(resource, owner, deadline)
        while mine:
            freed = {"owner": "", "epoch": mine.content["epoch"], "expiry": 0}
            try:
                self._bucket.replace(lock_key(resource, self._names), mine, freed, deadline)
            except LostRaceError:  # by a renewal in flight, or by another client
                mine = self._mine(resource, owner, deadline)
            else:
                return True
        return False

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._bucket.close()

    def _put(self, resource: str, owner: str, epoch: int, old: StoredObject | None, deadline: float) -> None:
        """Put a lease that begins now; unless it is answered, the holder does not know its last PUT."""
        self._held.pop((resource, owner), None)
        lease = {"owner": owner, "epoch": epoch, "expiry": self._clock() + self._ttl}
        put = self._bucket.replace(lock_key(resource, self._names), old, lease, deadline)
        if put.etag:
            self._held[resource, owner] = put

    def _mine(self, resource: str, owner: str, deadline: float) -> StoredObject | None:
        found = self._read(resource, deadline)
        return found if found and found.content["owner"] == owner else None

    def _read(self, resource: str, deadline: float) -> StoredObject | None:
        """Read the object; every error is NotApplied, since nothing was put."""
        try:
            return self._bucket.get(lock_key(resource, self._names), deadline)
        except Unknown as error:
            raise NotApplied(str(error)) from error


def lock_key(resource: str, names: str = "") -> str:
    """The key of the object that is the lock."""
    return f"fencepost-lock/{named(names, resource)}"


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections to its gateway: one for the lock, one for its renewals."""
    own = settings.endpoints[settings.client % len(settings.endpoints)]
    settings = replace(settings, endpoints=(own,))
    held: Held = {}
    calls, renewing = (S3LockService(Bucket(settings), settings.ttl, settings.names, held) for _ in range(2))
    return PollingLock(calls, renewing, renewals, settings.ttl)


def remove(settings: LockSettings) -> int:
    """Delete all versions of the objects of a run; return how many there were."""
    with closing(Bucket(settings)) as bucket:
        return bucket.remove(lock_key("", settings.names))
