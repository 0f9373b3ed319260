"""An UPDATE that looks up the mark in a sub-select, though it stands in the very row.

`UPDATE … WHERE (SELECT token …) < $new` is one statement, and looks atomic. But at READ
COMMITTED an UPDATE that has to wait for another writer's row looks at that row once more when
its turn comes, and at nothing else: the sub-select keeps the answer from before the wait. So
the comparison is with the mark of yesterday. `WHERE token < $new` is compared anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.storages import postgres

_UPDATE = """UPDATE register SET value = $3, token = $2, mark = $2
    WHERE resource = $1 AND (SELECT mark FROM register WHERE resource = $1) < $2 RETURNING 1"""
_LOG = "INSERT INTO audit (resource, token, value) VALUES ($1, $2, $3)"


class GuardInSubSelect:
    """A transaction of PostgreSQL that updates a row and tells of it in another table."""

    set_up = staticmethod(postgres.set_up)
    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._wire = postgres.wire_to(settings)
        self._register = postgres.PostgresStorage(self._wire, settings.fencing, settings.policy)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token; `sent` is called while the transaction is open."""
        with postgres.transaction(self._wire):
            if not self._wire.execute(_UPDATE, (resource, token, value), sent):
                raise Stale
            self._wire.execute(_LOG, (resource, token, value))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
