"""Read the mark, compare it in the program, then write, in one transaction at REPEATABLE READ.

The transaction reads from a snapshot, but its UPDATE changes the newest row: so in MariaDB and
MySQL it overwrites what another client has written since. Since 11.6.2 MariaDB refuses such an
UPDATE with error 1020, because innodb_snapshot_isolation is on by default: that is the twin. Where
it is off, as after an upgrade that keeps the old behavior, the same program is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.client import Stale
from workloads.mariadb_connection import MariadbConnection, database_of
from workloads.settings import StorageSettings
from workloads.sql_transaction import transaction
from workloads.storages import mariadb

OFF = "snapshot-isolation-off"
"""The fencing of the bug; with any other, the server refuses what would overwrite newer data."""


class ReadThenUpdate:
    """A row in MariaDB whose token the client compares, from a snapshot."""

    set_up = staticmethod(mariadb.set_up)
    committed = staticmethod(mariadb.committed)

    def __init__(self, settings: StorageSettings) -> None:
        is_on = settings.fencing != OFF
        self._connection = MariadbConnection(
            settings, database_of(settings.names), session=f"innodb_snapshot_isolation = {int(is_on)}"
        )
        # Its rows are written within a transaction.
        self._register = mariadb.MariadbStorage([self._connection], "select-for-update", settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Read the newest token, and write if it is older than ours; calls `sent` between the two."""
        with transaction(self._connection):
            _, newest = self._register.read(resource)
            if newest is not None and token <= newest:
                raise Stale
            sent()
            self._register.write_row(resource, token, value, lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
