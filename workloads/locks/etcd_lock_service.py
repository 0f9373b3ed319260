"""etcd's own lock service (`/v3/lock`): the server queues the waiters, and answers the new holder.

The fencing token is the create_revision of the returned key, read in a second request.
The answer's header revision is a different number: the revision at which the server noticed
that it was this client's turn, which can be equal for two waiters served together.

Only the server knows when it granted the lock: a grant carries no `attempt`.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.etcd_api import Connection
from workloads.locks.etcd import lock_key, remove
from workloads.locks.etcd_lease import LeaseKeeper, connections
from workloads.locks.renewals import SECOND
from workloads.settings import LockSettings

__all__ = ["EtcdLockService", "connect", "remove"]

PATIENCE = 3  # TTLs that an acquire waits for its turn


class EtcdLockService:
    """One client of the lock; holds one lock at a time."""

    def __init__(self, connection: Connection, lease: LeaseKeeper, settings: LockSettings) -> None:
        self._connection = connection
        self._lease = lease
        self._patience = PATIENCE * settings.ttl / SECOND  # seconds
        self._names = settings.names
        self._token = settings.token
        self._key = b""

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for this client's turn; Unknown after three TTLs."""
        lease = self._lease.start(resource, owner)
        answer = self._connection.call(
            "Lock/Lock", within=self._patience, name=lock_key(resource, self._names), lease=lease
        )
        self._key = answer.key
        self._lease.granted()
        token = self._token_of(answer)
        self._lease.renew()  # the lease is older than the grant: little of it may be left
        return Grant(token=token, ttl=None, attempt=None)

    def _token_of(self, answer: Any) -> int:
        if self._token == "header-revision":  # noqa: S105 - not a password
            return int(answer.header.revision)
        try:
            found = self._connection.call("KV/Range", key=answer.key).kvs
        except NotApplied as error:  # only this read failed: the lock is granted
            raise Unknown(f"granted, but its key could not be read: {error}") from error
        if not found:
            raise Unknown("granted, but the key is gone: the lease has ended")
        return int(found[0].create_revision)

    def release(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the key identifies both
        """Delete the key, if it still exists."""
        self._lease.stop()
        self._connection.call("Lock/Unlock", key=self._key)

    def revoke(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the lease identifies both
        """Revoke the lease of an acquire whose outcome is unknown."""
        self._lease.revoke(self._connection)

    def reconnect(self) -> None:
        """Connect to the next member."""
        self._connection.reconnect()

    def close(self) -> None:
        """Stop the lease's thread and drop both connections."""
        self._lease.close()
        self._connection.close()


def connect(settings: LockSettings, renewals: Session) -> EtcdLockService:
    """Make a client."""
    return EtcdLockService(*connections(settings, renewals), settings)
