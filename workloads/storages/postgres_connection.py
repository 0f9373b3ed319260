"""A PostgreSQL connection with a deadline for every step, even while the server is stopped.

libpq's blocking calls last as long as the server's socket is open, and neither
statement_timeout nor asyncio's timeouts end them while the server is stopped. So this
uses libpq's non-blocking interface (`psycopg.pq`) and polls the socket itself.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence

from psycopg import OperationalError, pq

from workloads.client import NotApplied, Unknown
from workloads.unsolicited_data import has_input

COMPLETION_UNKNOWN = b"40003"
Row = tuple[bytes | None, ...]
_ROWS = (pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_OK)
_IN_TRANSACTION = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)


class PostgresConnection:
    """One connection, opened by the first statement; an error with unknown outcome closes it."""

    def __init__(self, conninfo: str, timeout: float) -> None:
        self._conninfo = conninfo.encode()
        self._timeout = timeout  # seconds; to connect, and for each statement
        self._connection: pq.abc.PGconn | None = None

    def execute(
        self,
        sql: str,
        parameters: Sequence[str | int] = (),
        sent: Callable[[], None] | None = None,
    ) -> list[Row]:
        """Send one statement as one message, call `sent`, and return its rows.

        Raises NotApplied if the server refused the statement or was never reached,
        Unknown for any other error.
        """
        connection = self._open()
        deadline = time.monotonic() + self._timeout
        try:
            connection.send_query_params(sql.encode(), [str(each).encode() for each in parameters])
            while connection.flush():
                _wait(connection, select.POLLOUT, deadline)
            if sent is not None:
                sent()
            return _rows(connection, deadline)
        except OperationalError as error:
            self.close()
            raise Unknown(_in_one_line(str(error))) from error
        except Unknown:
            self.close()
            raise

    def rows(self, sql: str) -> Iterator[Row]:
        """Send one statement, and yield each row as it arrives, within the timeout after the one before.

        Raises as `execute`. Close the connection unless all rows were read.
        """
        connection = self._open()
        connection.send_query_params(sql.encode(), [])
        connection.set_single_row_mode()
        try:
            while (result := _next_result(connection, time.monotonic() + self._timeout)) is not None:
                if result.status not in _ROWS:
                    raise _refusal(result)
                yield from _rows_of(result)
        except OperationalError as error:
            raise Unknown(_in_one_line(str(error))) from error

    def close(self) -> None:
        """Drop the connection; the server rolls back an open transaction."""
        if self._connection is not None:
            self._connection.finish()
            self._connection = None

    def _open(self) -> pq.abc.PGconn:
        if self._connection is not None:
            self._expect_silence(self._connection)
        if self._connection is None:
            try:
                self._connection = _connect(self._conninfo, time.monotonic() + self._timeout)
            except Unknown as error:  # no statement was sent
                raise NotApplied(f"not connected: {error}") from error
        return self._connection

    def _expect_silence(self, connection: pq.abc.PGconn) -> None:
        """Drop a connection with unsolicited data; NotApplied if that ends a transaction."""
        in_transaction = connection.transaction_status in _IN_TRANSACTION
        if _has_spoken(connection):
            self.close()
            if in_transaction:  # the next statement must not run outside it
                raise NotApplied("the server closed the connection, or sent data before any request")


def _has_spoken(connection: pq.abc.PGconn) -> bool:
    """Has the server closed the connection, or sent something since the last answer?

    libpq would take data in the socket for the answer to the next statement. `is_busy` makes
    it drop unsolicited data that it has already read.
    """
    connection.is_busy()
    try:
        return has_input(connection.socket)
    except OperationalError:  # it is lost
        return True


def _connect(conninfo: bytes, deadline: float) -> pq.abc.PGconn:
    connection = pq.PGconn.connect_start(conninfo)
    try:
        _complete(connection, deadline)
    except Unknown:
        connection.finish()
        raise
    connection.nonblocking = 1
    return connection


def _complete(connection: pq.abc.PGconn, deadline: float) -> None:
    while (state := connection.connect_poll()) != pq.PollingStatus.OK:
        if state == pq.PollingStatus.FAILED:
            raise Unknown(_in_one_line(connection.error_message.decode(errors="replace")))
        reading = state == pq.PollingStatus.READING
        _wait(connection, select.POLLIN if reading else select.POLLOUT, deadline)


def _in_one_line(said: str) -> str:
    """Return what libpq said without its line breaks and tabs."""
    return " ".join(said.split())


def _wait(connection: pq.abc.PGconn, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(connection.socket, event)
    left = max(0.0, deadline - time.monotonic())
    # Poll once more at the deadline: if this client was stopped, the answer may have arrived.
    if not poll.poll(left * 1000) and not poll.poll(0):
        raise Unknown("no answer in time")


def _rows(connection: pq.abc.PGconn, deadline: float) -> list[Row]:
    rows: list[Row] = []
    refusal: Exception | None = None
    while (result := _next_result(connection, deadline)) is not None:
        if result.status == pq.ExecStatus.TUPLES_OK:
            rows += _rows_of(result)
        elif result.status != pq.ExecStatus.COMMAND_OK:
            refusal = _refusal(result)
        elif result.command_status == b"ROLLBACK":
            rows = [(b"ROLLBACK",)]
    if refusal is not None:
        raise refusal
    return rows


def _next_result(connection: pq.abc.PGconn, deadline: float) -> pq.abc.PGresult | None:
    while connection.is_busy():
        _wait(connection, select.POLLIN, deadline)
        connection.consume_input()
    return connection.get_result()


def _rows_of(result: pq.abc.PGresult) -> Iterator[Row]:
    for row in range(result.ntuples):
        yield tuple(result.get_value(row, column) for column in range(result.nfields))


def _refusal(result: pq.abc.PGresult) -> Exception:
    """An ERROR rolled the statement back; after a FATAL one (such as a shutdown) the outcome is unknown."""
    said = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"connection lost").decode(
        errors="replace"
    )
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED)
    if severity == b"ERROR" and state != COMPLETION_UNKNOWN:
        return NotApplied(said)
    return Unknown(said)
