"""A lease of etcd, and what keeps it alive.

The lease carries the promise, not what is stored under it: its grant and every
keep-alive are recorded as `renew` operations of the owner, by a thread in this same OS
process, so that a pause of the process stops it too.
"""

from __future__ import annotations

from typing import Any

from workloads.client import NotApplied, Session
from workloads.etcd_api import Connection
from workloads.locks.renewals import SECOND, Renewals
from workloads.settings import LockSettings


class KeptLease:
    """A lease, and what keeps it alive; one at a time."""

    def __init__(self, connection: Connection, session: Session, ttl: int) -> None:
        self._connection = connection
        self._ttl = ttl  # ns
        self._renewals = Renewals(session, ttl, connection.reconnect)
        self.lease = 0

    def start(self, resource: str, owner: str) -> int:
        """Get a lease, keep it alive from now on, and return its id; NotApplied without one."""
        self._renewals.begin(resource, owner)
        if not self._renewals.renew(self._grant):
            raise NotApplied("no lease")
        self._renewals.keep(self._keep_alive)
        return self.lease

    def granted(self) -> None:
        """Announce that what is stored under the lease is the lock now."""
        self._renewals.granted()

    def renew(self) -> None:
        """Keep the lease alive once, now."""
        self._renewals.renew(self._keep_alive)

    def stop(self) -> None:
        """Keep nothing alive any more; what is under way may still end."""
        self._renewals.stop()

    def revoke(self, connection: Connection) -> None:
        """End the lease, and with it whatever is stored under it."""
        self._renewals.stop()
        connection.call("Lease/LeaseRevoke", ID=self.lease)

    def close(self) -> None:
        """Stop, and drop the connection."""
        self._renewals.close(self._connection.close)

    def _grant(self) -> dict[str, Any]:
        answer = self._connection.call("Lease/LeaseGrant", TTL=-(-self._ttl // SECOND))
        self.lease = answer.ID
        return {"ttl": answer.TTL * SECOND}

    def _keep_alive(self) -> dict[str, Any]:
        ttl = self._connection.keep_alive(self.lease)
        if ttl <= 0:
            raise NotApplied("lease lost")
        return {"ttl": ttl * SECOND}


def connections(settings: LockSettings, renewals: Session) -> tuple[Connection, KeptLease]:
    """Make two connections, one for the hold, one for its lease; they start at this client's own member."""
    hold, lease = (Connection(settings.endpoints, settings.timeout, first=settings.client) for _ in range(2))
    return hold, KeptLease(lease, renewals, settings.ttl)
