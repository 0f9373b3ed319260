"""Data on disk, but the mark only in memory.

An UNLOGGED table is fast, which is tempting for a number that changes all the time. But
PostgreSQL truncates it after a crash: the data is still there, the mark is not, and a client
that wakes up with an old token gets through. A mark in a variable of the storage service, or
in a Redis without persistence next to a database, is lost in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.storages import postgres

_TABLE = "CREATE {fencing} TABLE fence (resource text PRIMARY KEY, mark bigint NOT NULL)"
_WRITE = """WITH passed AS (
    INSERT INTO fence VALUES ($1, $2) ON CONFLICT (resource)
    DO UPDATE SET mark = excluded.mark WHERE fence.mark < excluded.mark RETURNING resource
), written AS (
    UPDATE register SET value = $3, token = $2 FROM passed WHERE register.resource = passed.resource
    RETURNING register.resource, token, value
)
INSERT INTO audit (resource, token, value) SELECT * FROM written RETURNING seq"""


class MarkInMemoryWithRestart:
    """One PostgreSQL statement on two tables; `fencing` says whether the fence's table is unlogged."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = postgres.make_connection(settings)
        self._register = postgres.PostgresStorage(self._connection, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token above the mark, or without a mark."""
        if not self._connection.execute(_WRITE, (resource, token, value), sent):
            raise Stale

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Create the register, and the table of marks."""
        postgres.set_up(settings, resources)
        with closing(postgres.make_connection(settings)) as connection:
            connection.execute(_TABLE.format(fencing="UNLOGGED" if settings.fencing == "unlogged" else ""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
