"""Administration of replicated PostgreSQL servers, with one connection per request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.core.errors import InfrastructureError
from harness.network.systems import postgres_row
from harness.network.topology import Address

PROMOTION = 20  # s; it takes at most 1
_PROMOTE = f"SELECT pg_promote(true, {PROMOTION})"
# pg_control_checkpoint() shows a new timeline only after the next checkpoint.
_ROLE = """
SELECT pg_is_in_recovery(),
    CASE WHEN pg_is_in_recovery() THEN (SELECT received_tli FROM pg_stat_wal_receiver)
         ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END,
    EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')
"""
_HAS_WRITES = "SELECT to_regclass('audit') IS NOT NULL"
_WRITES = "SELECT array_agg(value ORDER BY seq) FROM audit WHERE value IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresRole:
    """A server's role in replication."""

    in_recovery: bool  # is it a standby?
    timeline: int | None  # None: a standby that receives nothing
    streaming: bool  # is it a standby that is connected to its primary?

    def __str__(self) -> str:
        if not self.in_recovery:
            return f"a primary on timeline {self.timeline}"
        return f"a standby that is {'' if self.streaming else 'not '}connected to its primary"


def role(address: Address) -> PostgresRole:
    """Return a server's role; InfrastructureError if it does not answer."""
    in_recovery, timeline, streaming = _row(address, _ROLE)
    return PostgresRole(in_recovery=in_recovery, timeline=timeline, streaming=streaming)


def promote(address: Address) -> None:
    """Make a standby a primary, and wait until it is; InfrastructureError if that takes too long."""
    if _row(address, _PROMOTE) != (True,):
        raise InfrastructureError(f"PostgreSQL at {address}: not promoted within {PROMOTION} s")


def writes(address: Address) -> tuple[str, ...]:
    """Return the values of all accepted writes that a server has, in its order; () if it logs none."""
    if _row(address, _HAS_WRITES) != (True,):
        return ()
    return tuple(_row(address, _WRITES)[0] or ())


def _row(address: Address, query: str) -> tuple[Any, ...]:
    import psycopg

    try:
        return postgres_row(address, query)
    except psycopg.Error as error:
        raise InfrastructureError(f"PostgreSQL at {address}: {' '.join(str(error).split())}") from error
