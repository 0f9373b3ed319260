"""The table of leases in a file of SQLite; its clock is the client's own, in milliseconds."""

from __future__ import annotations

from workloads.settings import LockSettings
from workloads.sqlite_file import SqliteConnection, create_file, transaction

MILLISECOND = 1_000_000  # ns

CREATE = """CREATE TABLE IF NOT EXISTS lease (
    resource TEXT PRIMARY KEY, owner TEXT, token INTEGER NOT NULL, expires_at INTEGER NOT NULL
) STRICT"""
# ms since 1970, rounded down: so a lease gets one more.
NOW = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
END = f"{NOW} + 1 + :ttl"
TAKE = """INSERT INTO lease (resource, owner, token, expires_at) VALUES (:resource, :owner, 1, {end})
ON CONFLICT (resource) DO UPDATE
SET owner = excluded.owner, token = lease.token + 1, expires_at = excluded.expires_at
WHERE lease.owner IS NULL OR lease.expires_at <= {now}
RETURNING token"""
RENEW = """UPDATE lease SET expires_at = {end}
WHERE resource = :resource AND owner = :owner AND expires_at > {now} RETURNING token"""
RELEASE = "UPDATE lease SET owner = NULL WHERE resource = :resource AND owner = :owner RETURNING token"


class SqliteLeases:
    """The statements over one connection; each is a transaction, which locks the file."""

    def __init__(self, settings: LockSettings) -> None:
        self._settings = settings
        self._connection = SqliteConnection(settings)
        self._ttl = settings.ttl // MILLISECOND

    def create(self) -> None:
        """Create the file and its table, unless another client has."""
        create_file(self._settings)
        with transaction(self._connection.opened()):
            self._connection.opened().execute(CREATE)

    def take(self, resource: str, owner: str) -> int | None:
        """Take the lock if it is free, and return its token; None if it is taken."""
        return self._token(TAKE, resource, owner)

    def renew(self, resource: str, owner: str) -> bool:
        """Restart a lease that the owner holds; False if it does not."""
        return self._token(RENEW, resource, owner) is not None

    def release(self, resource: str, owner: str) -> bool:
        """Free the lock if it is the owner's; False if it is not."""
        return self._token(RELEASE, resource, owner) is not None

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def _token(self, statement: str, resource: str, owner: str) -> int | None:
        connection = self._connection.opened()
        with transaction(connection):
            known = {"resource": resource, "owner": owner, "ttl": self._ttl}
            rows = connection.execute(statement.format(now=NOW, end=END), known).fetchall()
        return int(rows[0][0]) if rows else None


def connect(settings: LockSettings) -> SqliteLeases:
    """Make a client of the table."""
    return SqliteLeases(settings)
