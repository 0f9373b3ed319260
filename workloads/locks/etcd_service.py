"""etcd's own lock service (`/v3/lock`): the server queues whoever asks, and answers the new holder.

The fencing token is the create_revision of the key that it returns, read anew: the
answer's header has the revision at which the server noticed that it was this client's
turn, which is another number, and equal for two waiters that are served at once.

When the request was granted, only the server knows: a grant carries no `attempt`.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.etcd_api import Connection
from workloads.locks.etcd import lock_key
from workloads.locks.etcd_lease import KeptLease, connections
from workloads.locks.renewals import SECOND
from workloads.settings import LockSettings

PATIENCE = 3  # TTLs that an acquire waits for its turn


class EtcdService:
    """One client of the lock: a hold at a time."""

    def __init__(self, connection: Connection, lease: KeptLease, settings: LockSettings) -> None:
        self._connection = connection
        self._lease = lease
        self._patience = PATIENCE * settings.ttl / SECOND  # seconds
        self._token = settings.token
        self._key = b""

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait until it is this client's turn; Unknown when it is not in three TTLs."""
        lease = self._lease.start(resource, owner)
        answer = self._connection.call(
            "Lock/Lock", within=self._patience, name=lock_key(resource), lease=lease
        )
        self._key = answer.key
        self._lease.granted()
        token = self._token_of(answer)
        self._lease.renew()  # the lease is older than the grant: without this it promises little
        return Grant(token=token, ttl=None, attempt=None)

    def _token_of(self, answer: Any) -> int:
        if self._token == "header-revision":  # noqa: S105 - no password
            return int(answer.header.revision)
        try:
            found = self._connection.call("KV/Range", key=answer.key).kvs
        except NotApplied as error:  # only this look: the lock is given
            raise Unknown(f"granted, but its key was not read: {error}") from error
        if not found:
            raise Unknown("granted, but the key is gone: the lease has ended")
        return int(found[0].create_revision)

    def release(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the key says both
        """Delete the key, if it is still there."""
        self._lease.stop()
        self._connection.call("Lock/Unlock", key=self._key)

    def revoke(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the lease says both
        """Revoke the lease of an acquire that nobody knows the end of."""
        self._lease.revoke(self._connection)

    def reconnect(self) -> None:
        """Turn to the next member on a new connection."""
        self._connection.reconnect()

    def close(self) -> None:
        """Stop the lease's thread and drop both connections."""
        self._lease.close()
        self._connection.close()


def connect(settings: LockSettings, renewals: Session) -> EtcdService:
    """Make a client."""
    return EtcdService(*connections(settings, renewals), settings)
