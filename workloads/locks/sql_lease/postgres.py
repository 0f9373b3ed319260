"""The table of leases in PostgreSQL; its clock is `clock_timestamp()`, not the time of a transaction."""

from __future__ import annotations

from contextlib import suppress

from workloads.client import NotApplied
from workloads.settings import LockSettings
from workloads.storages.postgres import drop_schema, make_connection, schema_of
from workloads.storages.postgres_connection import Row

MICROSECOND = 1000  # ns
PART = "lock"  # of the names of a run

CREATE = """CREATE TABLE IF NOT EXISTS {schema}.lease (
    resource text PRIMARY KEY, owner text, token bigint NOT NULL, expires_at timestamptz NOT NULL
)"""
TAKE = """INSERT INTO {schema}.lease AS held (resource, owner, token, expires_at)
VALUES ($1, $2, 1, clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (resource) DO UPDATE SET owner = excluded.owner, token = held.token + 1,
    expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE held.owner IS NULL OR held.expires_at <= clock_timestamp()
RETURNING token"""
RENEW = """UPDATE {schema}.lease SET expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE resource = $1 AND owner = $2 AND expires_at > clock_timestamp() RETURNING token"""
RELEASE = "UPDATE {schema}.lease SET owner = NULL WHERE resource = $1 AND owner = $2 RETURNING token"


class PostgresLeases:
    """The statements over one connection; $1 is the resource, $2 the owner, $3 the lease in microseconds."""

    def __init__(self, settings: LockSettings, take: str = TAKE, renew: str = RENEW) -> None:
        self._take, self._renew = take, renew
        self._connection = make_connection(settings)
        self._schema = schema_of(settings.names, PART) or "public"
        self._ttl = settings.ttl // MICROSECOND

    def create(self) -> None:
        """Create the table, and its schema on servers that other runs use as well."""
        for statement in ("CREATE SCHEMA IF NOT EXISTS {schema}", CREATE):
            with suppress(NotApplied):  # another client creates it at the same time
                self.execute(statement)

    def take(self, resource: str, owner: str) -> int | None:
        """Take the lock if it is free, and return its token; None if it is taken."""
        rows = self.execute(self._take, resource, owner, self._ttl)
        return int(rows[0][0] or 0) if rows else None

    def renew(self, resource: str, owner: str) -> bool:
        """Restart a lease that the owner holds; False if it does not."""
        return bool(self.execute(self._renew, resource, owner, self._ttl))

    def release(self, resource: str, owner: str) -> bool:
        """Free the lock if it is the owner's; False if it is not."""
        return bool(self.execute(RELEASE, resource, owner))

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def execute(self, statement: str, *parameters: str | int) -> list[Row]:
        """Send one statement, with {schema} for that of the table, and return its rows."""
        return self._connection.execute(statement.format(schema=self._schema), parameters)


def connect(settings: LockSettings) -> PostgresLeases:
    """Make a client of the table."""
    return PostgresLeases(settings)


def remove(settings: LockSettings) -> int:
    """Drop the schema of a run; return whether there was one."""
    return drop_schema(settings, schema_of(settings.names, PART))
