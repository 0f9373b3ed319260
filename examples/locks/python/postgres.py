"""A PostgreSQL session with a deadline for every statement: libpq has none while the server is silent."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import psycopg
from protocol import Fields

VERSIONS = {"psycopg": psycopg.__version__}


class Session:
    """A connection, opened by its first statement."""

    def __init__(self, start: Fields) -> None:
        host, port = start["lock"]["endpoints"][0].rsplit(":", 1)
        self._login = {"host": host, "port": port, "user": "fencepost", "dbname": "fencepost"}
        self._login["password"] = start["lock"]["password"]
        self._timeout = start["timeout_ms"] / 1000
        self._connection: psycopg.Connection | None = None

    def ask(self, sql: str, *values: Any, wait: float = 0) -> Any:
        """Return the first value of the first row, or None; an answer may take `wait` seconds longer."""
        if self._connection is None:
            self._connection = psycopg.connect(**self._login, autocommit=True, connect_timeout=2)
        with _cut_after(self._connection, self._timeout + wait):
            cursor = self._connection.execute(sql, values)
            row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def notice_end(self) -> None:
        """If the server has ended the session, let the next statement begin another."""
        if self._connection is not None and select.select([self._connection], [], [], 0)[0]:
            self.close()

    def close(self) -> None:
        """End the session; the next statement begins another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def _cut_after(connection: psycopg.Connection, seconds: float) -> Iterator[None]:
    with socket.socket(fileno=os.dup(connection.fileno())) as copy:
        timer = Timer(seconds, copy.shutdown, [socket.SHUT_RDWR])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
