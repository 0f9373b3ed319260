"""A PostgreSQL server: its readiness, version, clock and replication, with one connection per request."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, replace
from typing import Any

from harness.core.duration import NS
from harness.core.errors import InfrastructureError
from harness.network.topology import Address
from harness.network.unfit import Unfit
from workloads.settings import Login

TIMEOUT = 2.0  # s; per request
LOGIN = "user=fencepost dbname=fencepost sslmode=disable"
PASSWORD = "fencepost"  # noqa: S105 - in images, unless the engine has set another
PROBE = struct.pack("!ii", 8, 80877103)  # SSLRequest: needs no login; the answer is one byte
_AGREES = b"S"  # to speak TLS
REFUSALS = (
    "authentication failed",
    "authentication method",
    "does not exist",
    "no pg_hba.conf entry",
    "not permitted to log in",
    "pg_hba.conf rejects",
)
"""Its messages for a login that can never succeed; libpq passes on the text without its code."""
_IS_USABLE = (
    "SELECT NOT pg_is_in_recovery() OR EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')"
)
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


def is_usable(address: Address) -> bool:
    """Can `fencepost` log in to its database, and a standby receive? Unfit if it never will log in."""
    import psycopg

    try:
        return row(address, _IS_USABLE) == (True,)
    except psycopg.OperationalError as error:
        said = str(error).strip().rpartition("\n")[2].rpartition("failed: ")[2]
        if any(words in said for words in REFUSALS):
            raise Unfit(
                f"refuses user fencepost: {said}; its image must let that user into the database "
                "fencepost, without a password or with the password fencepost"
            ) from None
        return False


def version(address: Address) -> str:
    """Return such as "17.5 (Debian 17.5-1)"."""
    return str(row(address, "SHOW server_version")[0])


def begins_tls(connection: socket.socket) -> bool:
    """Ask a server to speak TLS on a connection: does it agree?"""
    connection.sendall(PROBE)
    return connection.recv(1) == _AGREES


def pgbouncer_version(address: Address) -> str:
    """Return such as "PgBouncer 1.24.1 before PostgreSQL 17.5 (Debian 17.5-1)"."""
    console = replace(address, login=Login(user="fencepost", database="pgbouncer"))
    return f"{row(console, 'SHOW VERSION')[0]} before PostgreSQL {version(address)}"


def clock(address: Address) -> int:
    """Return a server's wall clock (ns since 1970); OSError if it does not answer."""
    import psycopg

    try:
        (microseconds,) = row(address, "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::int8")
    except psycopg.OperationalError as error:
        raise ConnectionError(" ".join(str(error).split())) from None
    return int(microseconds) * NS["us"]


def row(address: Address, query: str) -> tuple[Any, ...]:
    """Return the row that a query on a PostgreSQL server returns; psycopg.OperationalError if it fails."""
    import psycopg

    where = f"host={address.host} port={address.port} connect_timeout={TIMEOUT:.0f}"
    known = address.login
    login: dict[str, Any] = {"password": known.password or PASSWORD}
    if known.user:  # of a server that we did not start
        login = {"user": known.user, "password": known.password, "dbname": known.database}
    if known.tls:
        login |= {"sslmode": "verify-full", "sslrootcert": known.tls.ca_file}
    if known.tls and known.tls.cert_file:
        login |= {"sslcert": known.tls.cert_file, "sslkey": known.tls.key_file}
    with psycopg.connect(f"{where} {LOGIN}", **login, autocommit=True) as connection:
        row: tuple[Any, ...] | None = connection.execute(query.encode()).fetchone()
    assert row is not None, f"it has one row: {query}"  # noqa: S101
    return row


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
    in_recovery, timeline, streaming = _administered(address, _ROLE)
    return PostgresRole(in_recovery=in_recovery, timeline=timeline, streaming=streaming)


def promote(address: Address) -> None:
    """Make a standby a primary, and wait until it is; InfrastructureError if that takes too long."""
    if _administered(address, _PROMOTE) != (True,):
        raise InfrastructureError(f"PostgreSQL at {address}: not promoted within {PROMOTION} s")


def writes(address: Address) -> tuple[str, ...]:
    """Return the values of all accepted writes that a server has, in its order; () if it logs none."""
    if _administered(address, _HAS_WRITES) != (True,):
        return ()
    return tuple(_administered(address, _WRITES)[0] or ())


def _administered(address: Address, query: str) -> tuple[Any, ...]:
    import psycopg

    try:
        return row(address, query)
    except psycopg.Error as error:
        raise InfrastructureError(f"PostgreSQL at {address}: {' '.join(str(error).split())}") from error
