"""The table of leases in MariaDB; its clock is `SYSDATE(6)`, in UTC, not the time of a statement."""

from __future__ import annotations

from contextlib import closing

from workloads.mariadb_connection import MariadbConnection, database_of, drop_database
from workloads.settings import LockSettings

MICROSECOND = 1000  # ns
PART = "lock"  # of the names of a run

CREATE = """CREATE TABLE IF NOT EXISTS {database}.lease (
    resource VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,
    owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    token BIGINT NOT NULL, expires_at DATETIME(6) NOT NULL
) ENGINE=InnoDB"""
# An upsert has no condition: its first assignment compares, and keeps the result for the others.
TAKE = """BEGIN NOT ATOMIC
    SET @granted = TRUE, @token = 1;
    INSERT INTO {database}.lease (resource, owner, token, expires_at)
    VALUES (%(resource)s, %(owner)s, 1, SYSDATE(6) + INTERVAL %(ttl)s MICROSECOND)
    ON DUPLICATE KEY UPDATE
        owner = IF(@granted := owner IS NULL OR expires_at <= SYSDATE(6), VALUES(owner), owner),
        token = IF(@granted, @token := token + 1, token),
        expires_at = IF(@granted, SYSDATE(6) + INTERVAL %(ttl)s MICROSECOND, expires_at);
    SELECT @granted, @token;
END"""
RENEW = """UPDATE {database}.lease SET expires_at = SYSDATE(6) + INTERVAL %(ttl)s MICROSECOND
WHERE resource = %(resource)s AND owner = %(owner)s AND expires_at > SYSDATE(6)"""
RELEASE = "UPDATE {database}.lease SET owner = NULL WHERE resource = %(resource)s AND owner = %(owner)s"


class MariadbLeases:
    """The statements over one connection."""

    def __init__(self, settings: LockSettings) -> None:
        self._connection = MariadbConnection(settings, None)
        self._database = database_of(settings.names, PART)
        self._ttl = settings.ttl // MICROSECOND

    def create(self) -> None:
        """Create the table, and its database on servers that other runs use as well."""
        self._connection.execute(f"CREATE DATABASE IF NOT EXISTS {self._database}")
        self._connection.execute(self._in_database(CREATE))

    def take(self, resource: str, owner: str) -> int | None:
        """Take the lock if it is free, and return its token; None if it is taken."""
        ((granted, token),) = self._execute(TAKE, resource, owner)
        return int(token or 0) if granted else None

    def renew(self, resource: str, owner: str) -> bool:
        """Restart a lease that the owner holds; False if it does not."""
        self._execute(RENEW, resource, owner)
        return self._connection.matched > 0

    def release(self, resource: str, owner: str) -> bool:
        """Free the lock if it is the owner's; False if it is not."""
        self._execute(RELEASE, resource, owner)
        return self._connection.matched > 0

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def _execute(self, statement: str, resource: str, owner: str) -> list[tuple[str | int | None, ...]]:
        known: dict[str, str | int] = {"resource": resource, "owner": owner, "ttl": self._ttl}
        return self._connection.execute(self._in_database(statement), known)

    def _in_database(self, statement: str) -> str:
        return statement.format(database=self._database)


def connect(settings: LockSettings) -> MariadbLeases:
    """Make a client of the table."""
    return MariadbLeases(settings)


def remove(settings: LockSettings) -> int:
    """Drop the database of a run; return whether there was one."""
    with closing(MariadbConnection(settings, None)) as connection:
        return drop_database(connection, database_of(settings.names, PART))
