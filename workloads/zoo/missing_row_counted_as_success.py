"""An UPDATE without a look at how many rows it touched.

A statement that finds no row to change is no error to a database: it is done, with nothing.
So a write to a row that nobody has made yet is acknowledged and never stored. The number of
rows stands in every driver's answer: `rowcount`, `RowsAffected()`, `executeUpdate()`.
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
    """A guarded UPDATE of PostgreSQL, whose count is never looked at."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._wire = postgres.wire_to(settings)
        self._register = postgres.PostgresStorage(self._wire, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, and take it for done."""
        self._wire.execute(_UPDATE, (resource, token, value), sent)

    @staticmethod
    def set_up(settings: StorageSettings, _resources: Sequence[str]) -> None:
        """Make the tables; a row for each resource is what was forgotten."""
        postgres.set_up(settings, [])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
