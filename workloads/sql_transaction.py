"""A transaction of several statements, on a connection to a database of SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from workloads.client import NotApplied, Unknown


class SqlConnection(Protocol):
    """One connection to a database."""

    def execute(self, sql: str) -> Sequence[object]:
        """Send one statement, and return its rows."""

    def close(self) -> None:
        """Drop the connection; the server rolls back an open transaction."""


@contextmanager
def transaction(connection: SqlConnection) -> Iterator[None]:
    """Run the block as one transaction; an error before its COMMIT is NotApplied."""
    try:
        connection.execute("BEGIN")
        yield
    except Unknown as error:  # the commit never left, and never will
        raise NotApplied(str(error)) from error
    except NotApplied:
        connection.close()
        raise
    if connection.execute("COMMIT"):
        raise NotApplied("the server rolled the transaction back")
