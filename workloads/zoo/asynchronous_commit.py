"""PostgreSQL that says "committed" before it has written anything down.

`synchronous_commit = off` makes every benchmark look good, and a greater `wal_writer_delay` even
more so. What was acknowledged in the time before a crash is gone afterwards, the mark of the
fence with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import postgres

_SETTINGS = (
    "ALTER DATABASE fencepost SET synchronous_commit = off",
    "ALTER SYSTEM SET wal_writer_delay = '10s'",
    "SELECT pg_reload_conf()",
)


class AsynchronousCommit:
    """The right statement, on a server that does not wait for its log."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = postgres.connect(settings)

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make the tables, and tell the server not to wait."""
        postgres.set_up(settings, resources)
        with closing(postgres.wire_to(settings)) as wire:
            for statement in _SETTINGS:
                wire.execute(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
