"""A lease in a table whose expiry is set and compared by the client's clock, and one clock is ahead.

The statement is atomic, and its times are parameters that the client fills in: `datetime.now()`
in place of the database's own clock. To a client whose clock is ahead, every lease has expired.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import Session
from workloads.locks.sql_lease import polling
from workloads.locks.sql_lease.postgres import RENEW, TAKE, PostgresLeases
from workloads.settings import LockSettings

AHEAD = 3600  # s
_CLOCK = "clock_timestamp()"


class ExpiryByTheClientsClock:
    """The lease in PostgreSQL, with another clock for client 0."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        ahead = AHEAD if settings.client == 0 else 0
        self._lock = polling(lambda each: _Leases(each, ahead), settings, renewals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _Leases:
    def __init__(self, settings: LockSettings, ahead: int) -> None:
        self._leases = PostgresLeases(settings)
        self._ttl = settings.ttl // 1000  # µs
        self._ahead = ahead

    def take(self, resource: str, owner: str) -> int | None:
        """Take the lock if it has expired by the client's clock."""
        rows = self._at(TAKE, resource, owner)
        return int(rows[0][0] or 0) if rows else None

    def renew(self, resource: str, owner: str) -> bool:
        """Restart a lease that has not expired by the client's clock."""
        return bool(self._at(RENEW, resource, owner))

    def _at(self, statement: str, resource: str, owner: str) -> list[tuple[bytes | None, ...]]:
        now = f"{time.time() + self._ahead:.6f}"
        by_client = statement.replace(_CLOCK, "to_timestamp($4::float8)")
        return self._leases.execute(by_client, resource, owner, self._ttl, now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._leases, name)
