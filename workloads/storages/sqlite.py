"""SQLite as a fenced register: one row per resource in a file that all clients open, without a server.

none                 the token is stored, but not compared
conditional-update   one UPDATE with the mark in its WHERE

Each accepted write and fence adds a row to `audit`, in the same transaction: that is the
commit order. A writer locks the file until its commit; another writer waits for the timeout
of a call, and then has certainly not written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, as_stored, from_stored
from workloads.settings import StorageSettings
from workloads.sqlite_file import SqliteConnection, create_file, errors_as_unknown, open_file, transaction

_TABLES = """
PRAGMA journal_mode = WAL; -- readers and a writer do not block each other
CREATE TABLE register (
    resource TEXT PRIMARY KEY, value TEXT, token INTEGER NOT NULL, mark INTEGER NOT NULL
) STRICT;
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL, token INTEGER NOT NULL, value TEXT, fence INTEGER NOT NULL DEFAULT 0,
    CHECK (fence = (value IS NULL))
) STRICT;
"""
_UPDATE = "UPDATE register SET value = :value, token = :token, mark = :token WHERE resource = :resource"
_GUARD = {"strict": " AND mark < :token", "inclusive": " AND mark <= :token"}
_FENCE = "UPDATE register SET mark = :token WHERE resource = :resource AND mark <= :token"
_LOG = "INSERT INTO audit (resource, token, value) VALUES (:resource, :token, :value)"
_LOG_FENCE = "INSERT INTO audit (resource, token, fence) VALUES (:resource, :token, 1)"


class SqliteStorage:
    """One client of the register."""

    def __init__(self, settings: StorageSettings, connection: SqliteConnection) -> None:
        self._logged = settings.logged
        self._update = _UPDATE + ("" if settings.fencing == "none" else _GUARD[settings.policy])
        self._connection = connection

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured; calls `sent` before the commit."""
        connection = self._connection.opened()
        with transaction(connection):
            row = {"resource": resource, "token": as_stored(token), "value": value}
            if connection.execute(self._update, row).rowcount == 0:
                self._explain(connection, resource)
            if self._logged:
                connection.execute(_LOG, row)
            sent()

    def _explain(self, connection: sqlite3.Connection, resource: str) -> None:
        """Raise the reason why no row was updated: Stale, or NotApplied without a row."""
        if connection.execute("SELECT 1 FROM register WHERE resource = ?", (resource,)).fetchone():
            raise Stale
        raise NotApplied(f"no row for {resource}")

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        query = "SELECT value, token FROM register WHERE resource = ?"
        value, token = self._connection.opened().execute(query, (resource,)).fetchone() or (None, 0)
        return value, from_stored(token)

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        connection = self._connection.opened()
        with transaction(connection):
            row = {"resource": resource, "token": token}
            if connection.execute(_FENCE, row).rowcount == 0:
                self._explain(connection, resource)
            connection.execute(_LOG_FENCE, row)

    def reconnect(self) -> None:
        """Drop the connection with its open transaction: the next call opens a new one."""
        self._connection.close()

    def sharing(self, settings: StorageSettings) -> SqliteStorage:
        """Make a client with other settings on the same connection."""
        return SqliteStorage(settings, self._connection)


def connect(settings: StorageSettings) -> SqliteStorage:
    """Make a client."""
    return SqliteStorage(settings, SqliteConnection(settings))


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create the file with mode 0600, its tables and a row for each resource."""
    create_file(settings)
    with errors_as_unknown(), closing(open_file(settings)) as connection:
        connection.executescript(_TABLES)
        rows = [(each, UNWRITTEN, UNWRITTEN) for each in resources]
        connection.executemany("INSERT INTO register VALUES (?, NULL, ?, ?)", rows)


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order."""
    query = "SELECT seq, resource, token, value, fence FROM audit ORDER BY seq"
    with errors_as_unknown(), closing(open_file(settings)) as connection:
        for seq, resource, token, value, fence in connection.execute(query):
            yield Commit(seq=seq, resource=resource, token=from_stored(token), value=value, fence=bool(fence))
