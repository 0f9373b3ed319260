"""A write in several statements, in a transaction on a connection to a database of SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from workloads.client import NotApplied, Stale, Unknown


class SqlConnection(Protocol):
    """One connection to a database."""

    def execute(self, sql: str) -> Sequence[object]:
        """Send one statement, and return its rows."""

    def close(self) -> None:
        """Drop the connection; the server rolls back an open transaction."""


def compare(rows: Sequence[Sequence[Any]], resource: str, token: int, *, inclusive: bool) -> None:
    """Raise Stale if a token is too low for the mark of a locked row, NotApplied if there is no row."""
    if not rows:
        raise NotApplied(f"no row for {resource}")
    mark = int(rows[0][0] or 0)
    if token < mark or (token == mark and not inclusive):
        raise Stale


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
