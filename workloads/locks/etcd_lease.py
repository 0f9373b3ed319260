"""An etcd lease, and the keep-alives that extend it.

The lease defines how long the lock is held, not the key under it. Its grant and every
keep-alive are recorded as `renew` operations of the owner. They run in a thread of the
client's own OS process, so that a pause of the process stops them too.
"""

from __future__ import annotations

from typing import Any

from workloads.client import NotApplied, Session
from workloads.etcd_api import Connection, connection
from workloads.locks.renewals import SECOND, Renewals
from workloads.settings import LockSettings


class LeaseKeeper:
    """Gets a lease and keeps it alive; one lease at a time."""

    def __init__(self, connection: Connection, session: Session, ttl: int) -> None:
        self._connection = connection
        self._seconds = -(-ttl // SECOND)
        self._renewals = Renewals(session, ttl, connection.reconnect, self._seconds * SECOND)
        self.lease = 0

    def start(self, resource: str, owner: str) -> int:
        """Get a lease, keep it alive from now on, and return its id; NotApplied if there is none."""
        self._renewals.begin(resource, owner)
        if not self._renewals.renew(self._grant):
            raise NotApplied("no lease")
        self._renewals.keep(self._keep_alive)
        return self.lease

    def granted(self) -> None:
        """Announce that the key under the lease is now the lock."""
        self._renewals.granted()

    def renew(self) -> None:
        """Send one keep-alive now."""
        self._renewals.renew(self._keep_alive)

    def stop(self) -> None:
        """Stop the keep-alives; one in flight may still complete."""
        self._renewals.stop()

    def revoke(self, connection: Connection) -> None:
        """End the lease; etcd deletes the keys under it."""
        self._renewals.stop()
        connection.call("Lease/LeaseRevoke", ID=self.lease)

    def close(self) -> None:
        """Stop the keep-alives, and drop the connection."""
        self._renewals.close(self._connection.close)

    def _grant(self) -> dict[str, Any]:
        answer = self._connection.call("Lease/LeaseGrant", TTL=self._seconds)
        self.lease = answer.ID
        return {"ttl": answer.TTL * SECOND}

    def _keep_alive(self) -> dict[str, Any]:
        ttl = self._connection.keep_alive(self.lease)
        if ttl <= 0:
            raise NotApplied("lease lost")
        return {"ttl": ttl * SECOND}


def connections(settings: LockSettings, renewals: Session) -> tuple[Connection, LeaseKeeper]:
    """Make two connections, one for the lock, one for its lease; each client starts at another member."""
    lock, lease = (connection(settings, first=settings.client) for _ in range(2))
    return lock, LeaseKeeper(lease, renewals, settings.ttl)
