"""MariaDB as a fenced register, on one server or on three nodes of Galera: how a write is fenced.

none                 the token is stored, but not compared
conditional-update   one UPDATE with the mark in its WHERE
select-for-update    lock the row, compare in the client, update, commit
upsert               INSERT … ON DUPLICATE KEY UPDATE, with the comparison in each assignment; needs
                     no row beforehand

Each accepted write and fence adds a row to `audit`, in the same transaction and after the update, so that
the row lock orders the sequence: that is the commit order. On several nodes a sequence is no order, because
each node takes its numbers from a series of its own. There each resource has a row in `versions`, which each
accepted write and fence raises in its transaction, and `audit` gets that number. Of two transactions that
change one row on two nodes, Galera certifies one and rolls the other back (error 1213): so no number is
given twice, and they are the commit order of each resource.

All but select-for-update send a write as one message, a compound statement with its own transaction, so
that a request delayed in the network can still take effect later. Its last step is the COMMIT, and the
fence refuses with an error before that: so any error says for certain that nothing was written, but those
in doubt that `mariadb_connection` lists. A node of Galera may repeat a statement that another node's write
has rolled back (wsrep_retry_autocommit, once by default). That is safe: it compares the mark again. But it
repeats the rows as well that the statement had returned before, and PyMySQL cannot read that answer (6 of
some 3,500 writes that raced on three nodes). So the statement returns none.

An upsert has no WHERE, and its count of rows is the same for a refused write as for a first one:
so the comparison keeps its result in a variable. It is made by the first assignment, because
later ones see the columns that it has changed.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, Unknown, as_stored, from_stored
from workloads.mariadb_connection import MariadbConnection, database_of, drop_database, refuses_with
from workloads.settings import GaleraSettings, StorageSettings
from workloads.sql_transaction import compare, transaction

# Strings are compared byte by byte, spaces at their end included.
_TEXT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_REGISTER = f"""CREATE TABLE register (
    resource VARCHAR(255) {_TEXT} PRIMARY KEY, value LONGTEXT {_TEXT},
    token BIGINT NOT NULL, mark BIGINT NOT NULL
) ENGINE=InnoDB"""
_AUDIT = f"""CREATE TABLE audit (
    seq BIGINT {{seq}},
    resource VARCHAR(255) {_TEXT} NOT NULL, token BIGINT NOT NULL, value LONGTEXT {_TEXT},
    fence BOOLEAN NOT NULL DEFAULT FALSE, CHECK (fence = (value IS NULL)), PRIMARY KEY ({{key}})
) ENGINE=InnoDB"""
_VERSIONS = f"""CREATE TABLE versions (
    resource VARCHAR(255) {_TEXT} PRIMARY KEY, version BIGINT NOT NULL
) ENGINE=InnoDB"""
_TABLES = (_REGISTER, _AUDIT.format(seq="AUTO_INCREMENT", key="seq"))
_TABLES_OF_NODES = (_REGISTER, _AUDIT.format(seq="", key="resource, seq"), _VERSIONS)
_UPDATE = (
    "UPDATE register SET value = %(value)s, token = %(token)s, mark = %(token)s"
    " WHERE resource = %(resource)s{guard}"
)
_UPSERT = """SET @accepted = TRUE;
    INSERT INTO register (resource, value, token, mark) VALUES (%(resource)s, %(value)s, %(token)s, %(token)s)
    ON DUPLICATE KEY UPDATE
        value = IF(@accepted := mark {below} VALUES(mark), VALUES(value), value),
        token = IF(@accepted, VALUES(token), token),
        mark = IF(@accepted, VALUES(mark), mark)"""
_RAISE = """SET @accepted = TRUE;
    INSERT INTO register (resource, token, mark) VALUES (%(resource)s, 0, %(token)s)
    ON DUPLICATE KEY UPDATE mark = IF(@accepted := mark <= VALUES(mark), VALUES(mark), mark)"""
_COUNTED = "; SET @accepted = ROW_COUNT()"
_LOG = """INSERT INTO audit (resource, token, value, fence)
    VALUES (%(resource)s, %(token)s, {value}, {fence});"""
_LOG_OF_NODES = """INSERT INTO versions VALUES (%(resource)s, 1)
    ON DUPLICATE KEY UPDATE version = version + 1;
    INSERT INTO audit (seq, resource, token, value, fence)
    SELECT version, resource, %(token)s, {value}, {fence} FROM versions WHERE resource = %(resource)s;"""
_OF_WRITE = {"value": "%(value)s", "fence": "FALSE"}
_OF_FENCE = {"value": "NULL", "fence": "TRUE"}
_STALE, _MISSING = 31001, 31002  # errors of our own
_STEPS = """{write};
    IF NOT @accepted THEN
        SET @exists = EXISTS (SELECT 1 FROM register WHERE resource = %(resource)s);
        SET @refused = IF(@exists, {stale}, {missing});
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = @refused;
    END IF;
    {log}"""
_IN_ONE_MESSAGE = "BEGIN NOT ATOMIC {steps} END"
_TRANSACTION = """BEGIN NOT ATOMIC
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        START TRANSACTION;
        {steps}
    END;
    COMMIT;
END"""
_LOCK_ROW = "SELECT mark FROM register WHERE resource = %(resource)s FOR UPDATE"
_BELOW = {"strict": "<", "inclusive": "<="}
_READ = "SELECT value, token FROM register WHERE resource = %(resource)s"
_ADD_ROW = "INSERT INTO register VALUES (%(resource)s, NULL, %(token)s, %(token)s)"
_POLL = 0.2  # s
_COMING_BACK = 30.0  # s; a node that was away gets what it has missed
_UP_TO_DATE = "wsrep_sync_wait = 7"  # before each statement, a node applies everything accepted before it


class MariadbStorage:
    """One client of the register, with a connection to each node."""

    def __init__(
        self,
        nodes: Sequence[MariadbConnection],
        fencing: str,
        policy: str,
        *,
        logged: bool = True,
        round_robin: bool = False,
    ) -> None:
        self._nodes = deque(nodes)  # the first one is in use
        self._round_robin = round_robin
        self._inclusive = policy == "inclusive"
        self._fencing = fencing
        self._log = "" if not logged else _LOG if len(nodes) == 1 else _LOG_OF_NODES
        self._is_one_update = not logged and fencing != "upsert"
        self._write = _write_statement(fencing, policy, self._log.format(**_OF_WRITE))

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        number = as_stored(token)
        node = self._next()
        if self._fencing == "select-for-update":
            with transaction(node):
                locked = node.execute(_LOCK_ROW, {"resource": resource})
                compare(locked, resource, number, inclusive=self._inclusive)
                self.write_row(resource, number, value, sent)
        else:
            self.write_row(resource, number, value, sent)

    def write_row(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with what compares in the statement itself; with select-for-update, that is nothing."""
        written: dict[str, str | int] = {"resource": resource, "token": token, "value": value}
        node = self._nodes[0]
        _execute(node, self._write, written, sent)
        if self._is_one_update and not node.matched:
            raise Stale if node.execute(_READ, {"resource": resource}) else _no_row(resource)

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write, as the node has applied it."""
        rows = self._next().execute(_READ, {"resource": resource})
        if not rows:
            return None, 0
        value, token = rows[0]
        return None if value is None else str(value), from_stored(int(token or 0))

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        steps = _steps(_RAISE, self._log.format(**_OF_FENCE))
        raised = _TRANSACTION.format(steps=steps)
        _execute(self._next(), raised, {"resource": resource, "token": token})

    def reconnect(self) -> None:
        """Drop the connections; the next call opens one to the next node."""
        for node in self._nodes:
            node.close()
        if not self._round_robin:  # it goes there anyway
            self._nodes.rotate(-1)

    def sharing(self, settings: StorageSettings) -> MariadbStorage:
        """Make a client with other settings on the same connections."""
        return _on(self._nodes, settings)

    def _next(self) -> MariadbConnection:
        """Return the node of the next call."""
        if self._round_robin:
            self._nodes.rotate(-1)
        return self._nodes[0]


def _execute(
    node: MariadbConnection,
    statement: str,
    parameters: dict[str, str | int],
    sent: Callable[[], None] | None = None,
) -> None:
    """Send a statement that writes; Stale or NotApplied if it refuses."""
    try:
        node.execute(statement, parameters, sent)
    except NotApplied as error:
        if refuses_with(error, {_STALE}):
            raise Stale from error
        if refuses_with(error, {_MISSING}):
            raise _no_row(str(parameters["resource"])) from error
        raise


def _no_row(resource: str) -> NotApplied:
    return NotApplied(f"no row for {resource}")


def _steps(write: str, log: str) -> str:
    return _STEPS.format(write=write, log=log, stale=_STALE, missing=_MISSING)


def _write_statement(fencing: str, policy: str, log: str) -> str:
    below = _BELOW[policy]
    guard = f" AND mark {below} %(token)s" if fencing == "conditional-update" else ""
    update = _UPDATE.format(guard=guard)
    write = _UPSERT.format(below=below) if fencing == "upsert" else update + _COUNTED
    steps = _steps(write, log)
    if fencing == "upsert":
        return _TRANSACTION.format(steps=steps)
    if not log:
        return update
    return (_IN_ONE_MESSAGE if fencing == "select-for-update" else _TRANSACTION).format(steps=steps)


def connect(settings: StorageSettings) -> MariadbStorage:
    """Make a client."""
    session = f"wsrep_sync_wait = {settings.sync_wait}" if isinstance(settings, GaleraSettings) else ""
    return _on(make_connections(settings, session), settings)


def _on(nodes: Sequence[MariadbConnection], settings: StorageSettings) -> MariadbStorage:
    return MariadbStorage(
        nodes,
        settings.fencing,
        settings.policy,
        logged=settings.logged,
        round_robin=isinstance(settings, GaleraSettings) and settings.round_robin,
    )


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create the tables, and a row for each resource unless the fencing is an upsert, on every node."""
    if settings.names:
        with closing(MariadbConnection(settings, None)) as connection:
            connection.execute(f"CREATE DATABASE {database_of(settings.names)}")
    with ExitStack() as stack:
        first, *others = _up_to_date(settings, stack)
        for node in (first, *others) if others else ():  # one that copied its data may have been away since
            _serving([node], "SELECT 1 FROM mysql.db", _COMING_BACK)
        for statement in _TABLES_OF_NODES if others else _TABLES:
            first.execute(statement)
        if settings.fencing != "upsert":
            for resource in resources:
                first.execute(_ADD_ROW, {"resource": resource, "token": UNWRITTEN})
        for node in others:
            node.execute("SELECT 1 FROM register")


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order: with several nodes, in that of each resource."""
    query = "SELECT seq, resource, token, value, fence FROM audit ORDER BY seq"
    with ExitStack() as stack:
        nodes = _up_to_date(settings, stack)
        serving = _serving(nodes, "SELECT 1 FROM audit LIMIT 1", _COMING_BACK if len(nodes) > 1 else 0)
        for seq, resource, token, value, fence in serving.rows(query):
            yield Commit(
                seq=int(seq or 0),
                resource=str(resource),
                token=from_stored(int(token or 0)),
                value=None if value is None else str(value),
                fence=bool(fence),
            )


def _up_to_date(settings: StorageSettings, stack: ExitStack) -> list[MariadbConnection]:
    session = _UP_TO_DATE if isinstance(settings, GaleraSettings) else ""
    return [stack.enter_context(closing(node)) for node in make_connections(settings, session)]


def _serving(nodes: Sequence[MariadbConnection], read: str, within: float) -> MariadbConnection:
    """Return the first node that serves a read: for so long (s), nodes may still come back."""
    deadline = time.monotonic() + within
    for node in itertools.cycle(nodes):
        try:
            node.execute(read)
        except (NotApplied, Unknown):
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL)
        else:
            return node
    raise AssertionError("there is a node")


def remove(settings: StorageSettings) -> int:
    """Drop the database of a run; return whether there was one."""
    with closing(MariadbConnection(settings, None)) as connection:
        return drop_database(connection, database_of(settings.names))


def make_connections(settings: StorageSettings, session: str = "") -> list[MariadbConnection]:
    """Make a connection to each node, which its first statement opens."""
    database = database_of(settings.names)
    each = [replace(settings, endpoints=(endpoint,)) for endpoint in settings.endpoints]
    return [MariadbConnection(of_node, database, session) for of_node in each]
