"""A file of SQLite: its connections, and transactions that say what became of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

from workloads.client import NotApplied, Unknown
from workloads.settings import Settings


class SqliteConnection:
    """A connection that the first call opens."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: sqlite3.Connection | None = None

    def opened(self) -> sqlite3.Connection:
        """Return the connection; the file must exist."""
        if self._connection is None:
            self._connection = open_file(self._settings)
        return self._connection

    def close(self) -> None:
        """Drop the connection with its open transaction: the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def open_file(settings: Settings) -> sqlite3.Connection:
    """Open the file, which must exist."""
    try:
        return sqlite3.connect(
            f"file:{quote(settings.endpoints[0])}?mode=rw",
            uri=True,
            timeout=settings.timeout,
            isolation_level=None,  # no implicit transactions
            check_same_thread=False,  # another one may close it
        )
    except sqlite3.Error as error:
        raise NotApplied(f"not opened: {error}") from error


def create_file(settings: Settings) -> None:
    """Create the file with mode 0600, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(settings.endpoints[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction; an error before the commit is NotApplied."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
    except sqlite3.Error as error:
        _roll_back(connection)
        raise NotApplied(str(error)) from error
    except NotApplied:
        _roll_back(connection)
        raise
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise Unknown(str(error)) from error


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


@contextmanager
def errors_as_unknown() -> Iterator[None]:
    """Turn SQLite's errors into Unknown, as the harness expects."""
    try:
        yield
    except sqlite3.Error as error:
        raise Unknown(str(error)) from error
