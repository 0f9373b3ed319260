"""A lease in a table of SQL: one row per resource, with its owner, its token and when it expires.

One statement takes the lock over once it was released or has expired, and raises the token; it
creates the row if there is none. So the token rises with each grant. A release keeps the row:
without it, the token would start again.

Expiry is by the clock of the database, which is compared in the statement itself. So the clocks of
clients do not matter, and a clock of the database that jumps ahead ends leases early. SQLite has
no server: its clock is that of the client's machine.

Only the owner renews, and only a lease that has not ended; a renewal keeps the token.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polling import PolledLease, PollingLock
from workloads.settings import LockSettings, SqlLeaseSettings

TABLES = {
    "mariadb": "workloads.locks.sql_lease.mariadb",
    "postgres": "workloads.locks.sql_lease.postgres",
    "sqlite": "workloads.locks.sql_lease.sqlite",
}
"""The module of each database: its `connect(settings)` makes a client of the table, and its
`remove(settings)` deletes everything under the names of a run and returns how much there was."""


class LeaseTable(Protocol):
    """The statements of one database, over one connection.

    Each raises NotApplied if it certainly did nothing, Unknown if that is not certain.
    """

    def create(self) -> None:
        """Create the table if there is none."""

    def take(self, resource: str, owner: str) -> int | None:
        """Take the lock if it is free, and return its token; None if it is taken."""

    def renew(self, resource: str, owner: str) -> bool:
        """Restart a lease that the owner holds; False if it does not."""

    def release(self, resource: str, owner: str) -> bool:
        """Free the lock if it is the owner's; False if it is not."""

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""


class SqlLeaseService:
    """The statements of one client, over one connection."""

    def __init__(self, table: LeaseTable, ttl: int) -> None:
        self._table = table
        self._ttl = ttl  # ns
        self._is_created = False

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free; None if it is taken."""
        self._create()
        try:
            token = self._table.take(resource, owner)
        except NotApplied:  # the table may be missing
            self._is_created = False
            raise
        return None if token is None else PolledLease(token=token, ttl=self._ttl, credential=owner)

    def _create(self) -> None:
        """Create the table, unless this client has; every error is NotApplied, since nothing was taken."""
        if self._is_created:
            return
        try:
            self._table.create()
        except Unknown as error:
            raise NotApplied(str(error)) from error
        self._is_created = True

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - the owner is it
        """Restart the lease and return its length (ns); NotApplied if it is lost."""
        if not self._table.renew(resource, owner):
            raise NotApplied("lease lost")
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - the owner is it
        """Release the lock; False if the owner did not hold it."""
        return self._table.release(resource, owner)

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._table.close()


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections: one for the lock, one for its renewals."""
    return polling(table_of(settings), settings, renewals)


def polling(
    connect_table: Callable[[LockSettings], LeaseTable], settings: LockSettings, renewals: Session
) -> PollingLock:
    """Make a client of a table, given by what connects to it."""
    calls, renewing = (SqlLeaseService(connect_table(settings), settings.ttl) for _ in range(2))
    return PollingLock(calls, renewing, renewals, settings.ttl)


def table_of(settings: LockSettings) -> Callable[[LockSettings], LeaseTable]:
    """Return what connects to the table in the database of these settings."""
    connect_table: Callable[[LockSettings], LeaseTable] = _module(settings).connect
    return connect_table


def remove(settings: LockSettings) -> int:
    """Delete everything under the names of a run; return how much there was."""
    return int(_module(settings).remove(settings))


def _module(settings: LockSettings) -> Any:
    assert isinstance(settings, SqlLeaseSettings)  # noqa: S101
    return import_module(TABLES[settings.system])
