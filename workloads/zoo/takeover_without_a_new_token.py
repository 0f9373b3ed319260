"""A lease in a table whose token rises with each release, but not when the lease has expired.

That is enough as long as every holder releases. A holder that is paused, or dies, does not: the
next one takes its lease over with the same token, and no storage can tell their writes apart.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks.sql_lease import polling
from workloads.locks.sql_lease.postgres import TAKE, PostgresLeases
from workloads.settings import LockSettings

_TAKE = TAKE.replace("held.token + 1", "held.token + (held.owner IS NULL)::int")


class TakeoverWithoutANewToken:
    """The lease in PostgreSQL, with a token that only a release lets rise."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = polling(lambda each: PostgresLeases(each, take=_TAKE), settings, renewals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
