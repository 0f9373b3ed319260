"""A lock in etcd by transaction: create the key if it is absent, under a lease kept alive.

The fencing token is the key's create_revision, which equals the header revision of the
transaction that created it. A client that finds the key watches it, and tries again
after its deletion.

The lease, not the key, defines how long the lock is held: see `etcd_lease`.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.etcd_api import CREATE_REVISION, EQUAL, Connection, connection, message, under
from workloads.locks.etcd_lease import LeaseKeeper, connections
from workloads.locks.renewals import SECOND
from workloads.settings import LockSettings, named

PATIENCE = 3  # TTLs that an acquire waits for the key's deletion


class EtcdLock:
    """One client of the lock; holds one lock at a time."""

    def __init__(self, connection: Connection, lease: LeaseKeeper, ttl: int, names: str = "") -> None:
        self._connection = connection
        self._names = names
        self._lease = lease
        self._ttl = ttl  # ns
        self._token = 0

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait until the key can be created; NotApplied after three TTLs."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        lease = self._lease.start(resource, owner)
        waited = False
        while True:
            attempt = time.monotonic_ns()
            answer = self._create(resource, owner, lease)
            if answer.succeeded:
                break
            waited = True
            self._wait(resource, answer.header.revision + 1, deadline)
        self._token = answer.header.revision
        if waited:
            self._lease.granted()
            self._lease.renew()  # the lease is older than the grant: little of it may be left
        return Grant(token=self._token, ttl=None, attempt=attempt)

    def _create(self, resource: str, owner: str, lease: int) -> Any:
        key = self._key(resource)
        return self._connection.call(
            "KV/Txn",
            compare=[created_at(key, 0)],
            success=[{"request_put": {"key": key, "value": owner.encode(), "lease": lease}}],
        )

    def _wait(self, resource: str, revision: int, deadline: int) -> None:
        left = deadline - time.monotonic_ns()
        try:
            if left > 0 and self._connection.wait_for_deletion(self._key(resource), revision, left / SECOND):
                return
        except Unknown as error:  # only the watch failed: every attempt so far was refused
            self._connection.reconnect()
            self._lease.stop()
            raise NotApplied(str(error)) from error
        self._lease.stop()
        raise NotApplied("not free in time")

    def release(self, resource: str, owner: str) -> None:
        """Delete the key if it still has our create_revision; NotApplied if it does not."""
        self._lease.stop()
        key = self._key(resource)
        answer = self._connection.call(
            "KV/Txn",
            compare=[created_at(key, self._token)],
            success=[{"request_delete_range": {"key": key}}],
        )
        if not answer.succeeded:
            raise NotApplied(f"{owner} is not the holder")

    def revoke(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the lease identifies both
        """Revoke the lease of an acquire whose outcome is unknown."""
        self._lease.revoke(self._connection)

    def _key(self, resource: str) -> bytes:
        return lock_key(resource, self._names)

    def reconnect(self) -> None:
        """Connect to the next member."""
        self._connection.reconnect()

    def close(self) -> None:
        """Stop the lease's thread and drop both connections."""
        self._lease.close()
        self._connection.close()


def lock_key(resource: str, names: str = "") -> bytes:
    """The key that is the lock."""
    return f"fencepost/{named(names, resource)}".encode()


def lock_keys(resource: str, names: str = "") -> tuple[bytes, bytes]:
    """Return the half-open range of keys that a lock in this etcd may use.

    It covers `lock_key` and the keys that etcd's own lock service queues under it.
    """
    key = lock_key(resource, names)
    return key, key + b"0"  # "0" follows "/" in ASCII


def created_at(key: bytes, revision: int) -> Any:
    """Compare a key's create_revision; 0 means that the key does not exist."""
    return message["Compare"](result=EQUAL, target=CREATE_REVISION, key=key, create_revision=revision)


def connect(settings: LockSettings, renewals: Session) -> EtcdLock:
    """Make a client."""
    return EtcdLock(*connections(settings, renewals), settings.ttl, settings.names)


def remove(settings: LockSettings) -> int:
    """Delete the keys of a run; return how many there were."""
    with closing(connection(settings)) as opened:
        return opened.delete(*under(lock_key("", settings.names)))
