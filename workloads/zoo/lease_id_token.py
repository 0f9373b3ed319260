"""The id of an etcd lease as the fencing token.

Every key that is a lock in etcd has a lease, and its id is at hand: a number that is never
used twice, and mostly greater than the one before. But each member of the cluster makes
ids of its own, which begin with the member's number: a client of one member always has
greater tokens than a client of another, whoever came first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.client import Grant, Session
from workloads.locks.etcd import EtcdLock
from workloads.locks.etcd_lease import connections
from workloads.settings import LockSettings


class LeaseIdToken:
    """etcd's lock with the wrong number of its two."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        connection, self._lease = connections(settings, renewals)
        self._lock = EtcdLock(connection, self._lease, settings.ttl)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock, and take the lease's id for its token."""
        return replace(self._lock.acquire(resource, owner), token=self._lease.lease)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
