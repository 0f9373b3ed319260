"""Data on disk, and the mark beside it in memory.

An UNLOGGED table is fast, and for a number that changes all the time that is tempting. But after
a crash PostgreSQL empties it: the data are all there, the mark is not, and whoever wakes up then
with an old token is let through. A mark in a variable of the storage service, or in a Redis
without persistence beside a database, is forgotten in the same way.
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
    """One statement of PostgreSQL on two tables; `fencing` is the kind of the fence's: unlogged, or not."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._wire = postgres.wire_to(settings)
        self._register = postgres.PostgresStorage(self._wire, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token that is above the mark, or where there is none."""
        if not self._wire.execute(_WRITE, (resource, token, value), sent):
            raise Stale

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make the register, and the table of the marks."""
        postgres.set_up(settings, resources)
        with closing(postgres.wire_to(settings)) as wire:
            wire.execute(_TABLE.format(fencing="UNLOGGED" if settings.fencing == "unlogged" else ""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
