"""A lease in a table whose renewal does not compare: it sets the owner and the expiry again.

It works while the holder is alive. A holder that was paused past the end of its lease renews as
soon as it wakes up, and takes the lock back from the client that has it by then. When it releases
it, a third client is granted the lock, while the second one still has its lease.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.sql_lease import polling
from workloads.locks.sql_lease.postgres import PostgresLeases
from workloads.settings import LockSettings

_RENEW = """UPDATE {schema}.lease
SET owner = $2, expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE resource = $1 RETURNING token"""


class RenewalThatTakesBack:
    """The lease in PostgreSQL, with a renewal that needs no lease."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = polling(lambda each: PostgresLeases(each, renew=_RENEW), settings, renewals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
