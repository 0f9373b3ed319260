"""Marks in a separate table, which an UPDATE of the data checks with EXISTS.

One table for all fences is tidy, and the data's tables stay as they are. But an UPDATE waits
only for the row that it changes, and at READ COMMITTED it re-reads only that row after the
wait. It still sees the other table's mark from before. A client that first locks the fence's
row (`SELECT … FOR UPDATE`) reads the current mark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from workloads.client import UNWRITTEN, Stale
from workloads.settings import StorageSettings
from workloads.sql_transaction import transaction
from workloads.storages import postgres

_TABLE = "CREATE TABLE fence (resource text PRIMARY KEY, mark bigint NOT NULL)"
_UPDATE = """UPDATE register SET value = $3, token = $2 WHERE resource = $1
    AND EXISTS (SELECT 1 FROM fence WHERE fence.resource = $1 AND fence.mark < $2) RETURNING 1"""
_FENCE = "UPDATE fence SET mark = $2 WHERE resource = $1"
_LOG = "INSERT INTO audit (resource, token, value) VALUES ($1, $2, $3)"


class GuardRowInAnotherTable:
    """A PostgreSQL transaction on two tables: one for data, one for fences."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = postgres.make_connection(settings)
        self._register = postgres.PostgresStorage(self._connection, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, and raise the fence; calls `sent` while the transaction is open."""
        with transaction(self._connection):
            if not self._connection.execute(_UPDATE, (resource, token, value), sent):
                raise Stale
            self._connection.execute(_FENCE, (resource, token))
            self._connection.execute(_LOG, (resource, token, value))

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Create the register, and a fence for each of its rows."""
        postgres.set_up(settings, resources)
        with closing(postgres.make_connection(settings)) as connection:
            connection.execute(_TABLE)
            for resource in resources:
                connection.execute("INSERT INTO fence VALUES ($1, $2)", (resource, UNWRITTEN))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
