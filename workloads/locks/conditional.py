"""A lock in a store with conditional writes: one object per resource, with its owner, epoch and expiry.

A client creates the object if there is none, and takes it over once it was released or has
expired, each by a write on the condition that it is still what the client read. A release keeps
the epoch, which rises with each grant, so it is a write too: after a deletion it would start again.

Expiry is compared with the client's own clock, the wall clock, because such a store has none that it
could be compared with. All clients of a run are on one host, and so share that clock.

A holder renews and releases on the condition of its own last write, without reading. Once it
does not know that one, or it no longer holds, it reads whose the lock is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from workloads.client import NotApplied, Unknown
from workloads.locks.polling import PolledLease
from workloads.stored_object import LostRaceError, StoredObject

Held = dict[tuple[str, str], StoredObject]
"""By resource and owner: the last known write of a holder, for both connections of its client."""


class ObjectStore(Protocol):
    """What keeps the objects, over one connection; deadlines are of the monotonic clock (s)."""

    def deadline(self) -> float:
        """Return when a call that begins now must end."""

    def get(self, key: str, deadline: float) -> StoredObject | None:
        """Read an object; None if there is none."""

    def replace(
        self, key: str, old: StoredObject | None, content: dict[str, Any], deadline: float
    ) -> StoredObject:
        """Write an object in place of the one that was read, or of none; LostRaceError if it has changed."""

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""


def epoch(granted: StoredObject) -> int:
    """Return how often the lock has been granted, this grant included."""
    return int(granted.content["epoch"])


class ConditionalLockService:
    """The requests to a store, over one connection."""

    def __init__(
        self,
        store: ObjectStore,
        ttl: int,
        held: Held,
        *,
        key: Callable[[str], str],
        token: Callable[[StoredObject], int] = epoch,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`key` is where a resource's object is, `clock` the time by which leases expire (ns since 1970)."""
        self._store = store
        self._ttl = ttl  # ns
        self._held = held
        self._key = key
        self._token = token
        self._clock = clock

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Read the object, and take it if it is free; None if it is taken."""
        deadline = self._store.deadline()
        found = self._read(resource, deadline)
        if found and found.content["expiry"] > self._clock():
            return None
        try:
            granted = self._put(resource, owner, epoch(found) + 1 if found else 1, found, deadline)
        except LostRaceError:
            return None
        return PolledLease(token=self._token(granted), ttl=self._ttl, credential=owner)

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - the owner is it
        """Put a later expiry and return the lease's length (ns); NotApplied if it is lost."""
        deadline = self._store.deadline()
        mine = self._held.get((resource, owner)) or self._mine(resource, owner, deadline)
        if mine is None:
            raise NotApplied("lease lost")
        try:
            self._put(resource, owner, epoch(mine), mine, deadline)
        except LostRaceError as error:
            raise NotApplied("lease lost") from error
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - the owner is it
        """Put the object without an owner; False if it was not the owner's."""
        deadline = self._store.deadline()
        mine = self._held.pop((resource, owner), None) or self._mine(resource, owner, deadline)
        while mine:
            freed = {"owner": "", "epoch": epoch(mine), "expiry": 0}
            try:
                self._store.replace(self._key(resource), mine, freed, deadline)
            except LostRaceError:  # by a renewal in flight, or by another client
                mine = self._mine(resource, owner, deadline)
            else:
                return True
        return False

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._store.close()

    def _put(
        self, resource: str, owner: str, epoch: int, old: StoredObject | None, deadline: float
    ) -> StoredObject:
        """Put a lease that begins now; unless it is answered, the holder does not know its last write."""
        self._held.pop((resource, owner), None)
        lease = {"owner": owner, "epoch": epoch, "expiry": self._clock() + self._ttl}
        put = self._store.replace(self._key(resource), old, lease, deadline)
        if put.version:
            self._held[resource, owner] = put
        return put

    def _mine(self, resource: str, owner: str, deadline: float) -> StoredObject | None:
        found = self._read(resource, deadline)
        return found if found and found.content["owner"] == owner else None

    def _read(self, resource: str, deadline: float) -> StoredObject | None:
        """Read the object; every error is NotApplied, since nothing was written."""
        try:
            return self._store.get(self._key(resource), deadline)
        except Unknown as error:
            raise NotApplied(str(error)) from error
