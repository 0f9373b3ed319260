"""Compares with the newest token of an asynchronous standby, which is there to take load off the primary.

Comparing and writing are two statements in any case. But on the primary the comparison misses only what
was written in between; a standby that lags misses everything since, for as long as it is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.client import NotApplied, Stale, Unknown
from workloads.settings import StorageSettings
from workloads.storages import postgres


class MarkFromAStandby:
    """The unfenced register of PostgreSQL, after a look at its standby."""

    set_up = staticmethod(postgres.set_up)
    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        _primary, standby = settings.endpoints
        connection = postgres.make_connection(settings)
        self._register = postgres.PostgresStorage(connection, "none", settings.policy)
        self._standby = postgres.make_connection(settings, standby)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write if the standby knows of no newer token."""
        try:
            rows = self._standby.execute("SELECT mark FROM register WHERE resource = $1", (resource,))
        except Unknown as error:  # nothing was written
            raise NotApplied(str(error)) from error
        if rows and int(rows[0][0] or 0) >= token:
            raise Stale
        self._register.write(resource, token, value, sent)

    def reconnect(self) -> None:
        """Drop both connections."""
        self._standby.close()
        self._register.reconnect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)
