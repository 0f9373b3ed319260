"""PostgreSQL that acknowledges a commit before it writes it to disk.

`synchronous_commit = off` improves every benchmark, and a greater `wal_writer_delay` even
more. A crash then loses the latest acknowledged writes, and the fence's mark with them.
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
    """The correct statement, on a server that does not wait for its log."""

    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = postgres.connect(settings)

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Create the tables, and configure the server not to wait."""
        postgres.set_up(settings, resources)
        with closing(postgres.make_connection(settings)) as connection:
            for statement in _SETTINGS:
                connection.execute(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
