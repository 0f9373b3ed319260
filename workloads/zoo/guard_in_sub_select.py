"""An UPDATE that reads the mark in a sub-select, although the mark is in the same row.

`UPDATE … WHERE (SELECT token …) < $new` is one statement, and looks atomic. But at READ
COMMITTED, an UPDATE that waited for another writer's row lock re-reads only that row, not
the sub-select. So it compares with the mark from before the wait. `WHERE token < $new` is
evaluated again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.sql_transaction import transaction
from workloads.storages import postgres

_UPDATE = """UPDATE register SET value = $3, token = $2, mark = $2
    WHERE resource = $1 AND (SELECT mark FROM register WHERE resource = $1) < $2 RETURNING 1"""
_LOG = "INSERT INTO audit (resource, token, value) VALUES ($1, $2, $3)"


class GuardInSubSelect:
    """A PostgreSQL transaction that updates a row and logs it in another table."""

    set_up = staticmethod(postgres.set_up)
    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = postgres.make_connection(settings)
        self._register = postgres.PostgresStorage(self._connection, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token; calls `sent` while the transaction is open."""
        with transaction(self._connection):
            if not self._connection.execute(_UPDATE, (resource, token, value), sent):
                raise Stale
            self._connection.execute(_LOG, (resource, token, value))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
