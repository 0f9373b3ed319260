"""The id of an etcd lease as the fencing token.

Every lock key in etcd has a lease, and its id is available: a number that is never reused,
and mostly greater than the one before. But each member of the cluster generates its own ids,
prefixed with the member's number: a client of one member always has greater tokens than a
client of another, whatever the order of their grants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.client import Grant, Session
from workloads.locks.etcd import EtcdLock
from workloads.locks.etcd_lease import connections
from workloads.settings import LockSettings


class LeaseIdToken:
    """etcd's lock with the wrong one of its two numbers."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        connection, self._lease = connections(settings, renewals)
        self._lock = EtcdLock(connection, self._lease, settings.ttl)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock, and use the lease's id as its token."""
        return replace(self._lock.acquire(resource, owner), token=self._lease.lease)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
