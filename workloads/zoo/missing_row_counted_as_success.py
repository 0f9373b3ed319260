"""An UPDATE whose row count is not checked.

To a database, a statement that matches no row is not an error: it succeeds and changes
nothing. So a write to a row that does not exist yet is acknowledged but never stored. Every
driver returns the number of rows: `rowcount`, `RowsAffected()`, `executeUpdate()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import postgres

_UPDATE = """WITH written AS (
    UPDATE register SET value = $3, token = $2, mark = $2 WHERE resource = $1 AND mark < $2
    RETURNING resource, token, value
)
INSERT INTO audit (resource, token, value) SELECT * FROM written"""


class MissingRowCountedAsSuccess:
    """A fenced PostgreSQL UPDATE whose row count is ignored."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = postgres.make_connection(settings)
        self._register = postgres.PostgresStorage(self._connection, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, and assume success."""
        self._connection.execute(_UPDATE, (resource, token, value), sent)

    @staticmethod
    def set_up(settings: StorageSettings, _resources: Sequence[str]) -> None:
        """Create the tables, but not the rows of the resources."""
        postgres.set_up(settings, [])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
