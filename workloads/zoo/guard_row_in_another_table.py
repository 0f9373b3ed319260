"""The marks in a table of their own, which an UPDATE of the data asks through EXISTS.

One table for all fences is tidy, and the data's tables stay as they are. But what an UPDATE
waits for is the row that it changes, and at READ COMMITTED only that row is looked at again
after the wait. The mark of the other table is the one that stood there before. Whoever locks
the row of the fence first (`SELECT … FOR UPDATE`) reads it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from workloads.client import UNWRITTEN, Stale
from workloads.settings import StorageSettings
from workloads.storages import postgres

_TABLE = "CREATE TABLE fence (resource text PRIMARY KEY, mark bigint NOT NULL)"
_UPDATE = """UPDATE register SET value = $3, token = $2 WHERE resource = $1
    AND EXISTS (SELECT 1 FROM fence WHERE fence.resource = $1 AND fence.mark < $2) RETURNING 1"""
_FENCE = "UPDATE fence SET mark = $2 WHERE resource = $1"
_LOG = "INSERT INTO audit (resource, token, value) VALUES ($1, $2, $3)"


class GuardRowInAnotherTable:
    """A transaction of PostgreSQL on two tables: the data's, and the fence's."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._wire = postgres.wire_to(settings)
        self._register = postgres.PostgresStorage(self._wire, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, and raise the fence; `sent` is called while the transaction is open."""
        with postgres.transaction(self._wire):
            if not self._wire.execute(_UPDATE, (resource, token, value), sent):
                raise Stale
            self._wire.execute(_FENCE, (resource, token))
            self._wire.execute(_LOG, (resource, token, value))

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make the register, and a fence for each row of it."""
        postgres.set_up(settings, resources)
        with closing(postgres.wire_to(settings)) as wire:
            wire.execute(_TABLE)
            for resource in resources:
                wire.execute("INSERT INTO fence VALUES ($1, $2)", (resource, UNWRITTEN))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
