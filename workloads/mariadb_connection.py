"""A MariaDB connection: PyMySQL, which sends each statement once, with a timeout for each answer.

A statement that matches a row counts, also if it changes nothing (`CLIENT.FOUND_ROWS`): by default
the server counts changed rows, and a write that is repeated would look refused.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.connections import MySQLResult
from pymysql.constants import CLIENT, COMMAND, SERVER_STATUS
from pymysql.cursors import SSCursor

from workloads.client import NotApplied, Unknown
from workloads.settings import Settings, host_and_port
from workloads.unsolicited_data import has_input

OURS = "fencepost"
"""The user, the password and the database of servers that an engine started."""
IDLE_IN_TRANSACTION = 5  # s; a client stopped in a transaction holds the row lock until then
Row = tuple[str | int | None, ...]

_SESSION = f"SET SESSION idle_transaction_timeout = {IDLE_IN_TRANSACTION}, time_zone = '+00:00'"
_OF_CLIENTS = range(2000, 3000)  # errors of the client itself, such as 2013: the connection is lost
_DOUBTFUL = {
    1053,  # the server shuts down
    1180,  # an error during COMMIT
    1317,  # the query was interrupted
    1927,  # the connection was killed
    1969,  # the query ran too long
}
"""Errors of a server that may have carried out the statement."""
_NOT_PRIMARY = 1047
"""A node of Galera is not in the primary component, and executes nothing, not even a ROLLBACK."""


class MariadbConnection:
    """One connection, opened by the first statement; an error with unknown outcome closes it."""

    def __init__(self, settings: Settings, database: str | None, session: str = "") -> None:
        """Without a database, statements have to name one; `session` are more settings of the session."""
        self._settings = settings
        self._database = database
        self._session = f"{_SESSION}, {session}" if session else _SESSION
        self._connection: pymysql.Connection[SSCursor] | None = None
        self._socket: socket.socket | None = None  # the same one as PyMySQL's, which TLS wraps
        self._in_transaction = False
        self.matched = 0
        """The rows that the last statement matched, or inserted."""

    def execute(
        self,
        sql: str,
        parameters: Mapping[str, str | int] | None = None,
        sent: Callable[[], None] | None = None,
    ) -> list[Row]:
        """Send one statement, with %(name)s for parameters, as one message; call `sent`, return its rows.

        Raises NotApplied if the server refused the statement or was never reached,
        Unknown for any other error.
        """
        connection: Any = self._open()
        try:
            # PyMySQL's own way to send a statement does not return before the answer.
            connection._execute_command(COMMAND.COM_QUERY, _filled(connection, sql, parameters))  # noqa: SLF001
            if sent is not None:
                sent()
            return self._rows(connection)
        except pymysql.Error as error:
            raise self._outcome(error) from error

    def _rows(self, connection: pymysql.Connection[SSCursor]) -> list[Row]:
        rows: list[Row] = []
        self.matched, has_next = 0, True
        while has_next:
            result = MySQLResult(connection)
            result.read()
            rows += result.rows or ()
            if result.server_status is not None:  # it returned no rows
                self.matched += result.affected_rows or 0
                self._in_transaction = bool(result.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)
            has_next = bool(result.has_next)
        return rows

    def rows(self, sql: str) -> Iterator[Row]:
        """Send one statement, and yield each row as it arrives, within the timeout after the one before.

        Raises as `execute`. Close the connection unless all rows were read.
        """
        cursor = self._open().cursor(SSCursor)
        try:
            cursor.execute(sql)
            yield from cursor
        except pymysql.Error as error:
            raise self._outcome(error) from error

    def _outcome(self, error: pymysql.Error) -> NotApplied | Unknown:
        """An error of the server rolled the statement back; after any other the outcome is unknown."""
        code, said = _parts(error)
        if code is None or code in _OF_CLIENTS or code in _DOUBTFUL:
            self.close()
            return Unknown(said)
        if code == _NOT_PRIMARY:
            self.close()
        return NotApplied(said)

    def close(self) -> None:
        """Drop the connection; the server rolls back an open transaction."""
        self._in_transaction = False
        if self._connection is not None:
            with suppress(pymysql.Error):  # it is closed already
                self._connection.close()
            self._connection = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> pymysql.Connection[SSCursor]:
        if self._socket is not None and has_input(self._socket.fileno()):
            in_transaction = self._in_transaction
            self.close()
            if in_transaction:  # the next statement must not run outside it
                raise NotApplied("the server closed the connection, or sent data before any request")
        if self._connection is None:
            try:
                self._connection = self._connected()
            except (pymysql.Error, OSError) as error:  # no statement was sent
                self.close()
                said = _parts(error)[1] if isinstance(error, pymysql.Error) else str(error)
                raise NotApplied(f"not connected: {said}") from error
        return self._connection

    def _connected(self) -> pymysql.Connection[SSCursor]:
        settings = self._settings
        host, port = host_and_port(settings.endpoints[0])
        tls = settings.login.tls
        connection: pymysql.Connection[SSCursor] = pymysql.Connection(
            host=tls.host if tls else host,  # a proxy has no certificate of its own
            user=settings.user or OURS,
            password=settings.password or ("" if settings.user else OURS),
            database=self._database,
            client_flag=CLIENT.FOUND_ROWS,
            autocommit=True,
            read_timeout=settings.timeout,
            write_timeout=settings.timeout,
            init_command=self._session,
            ssl=_of_tls(settings),
            ssl_disabled=tls is None,
            defer_connect=True,
        )
        opened = socket.create_connection((host.strip("[]"), port), settings.timeout)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = opened.dup()
        connection.connect(opened)
        return connection


def _of_tls(settings: Settings) -> dict[str, str] | None:
    tls = settings.login.tls
    if tls is None:
        return None
    shown = {"cert": tls.cert_file, "key": tls.key_file} if tls.cert_file else {}
    return {"ca": tls.ca_file, **shown}


def _filled(
    connection: pymysql.Connection[SSCursor], sql: str, parameters: Mapping[str, str | int] | None
) -> str:
    """Fill the parameters into a statement: this protocol has them in its text."""
    if parameters is None:
        return sql
    return sql % {name: connection.escape(value) for name, value in parameters.items()}


def _parts(error: pymysql.Error) -> tuple[int | None, str]:
    """Return the code of an error, if it has one, and what it says in one line."""
    code = error.args[0] if error.args and isinstance(error.args[0], int) else None
    words = " ".join(str(each) for each in error.args[1 if code is not None else 0 :])
    said = " ".join(words.split()) or type(error).__name__
    return code, f"{said} ({code})" if code else said


def refuses_with(error: NotApplied, codes: AbstractSet[int]) -> bool:
    """Did the server refuse a statement with one of these errors?"""
    return isinstance(error.__cause__, pymysql.Error) and _parts(error.__cause__)[0] in codes


def database_of(names: str, part: str = "") -> str:
    """Return the database with the tables of a run, or a part of them; "": that of servers of its own."""
    if not names:
        return OURS
    return "_".join(filter(None, ("fencepost", re.sub("[^a-z0-9]", "_", names.lower()), part)))


def drop_database(connection: MariadbConnection, name: str) -> int:
    """Drop a database; return whether there was one."""
    found = connection.execute("SHOW DATABASES LIKE %(name)s", {"name": name.replace("_", "\\_")})
    if found:
        connection.execute(f"DROP DATABASE {name}")
    return len(found)
