"""MariaDB as a fenced register: four ways to fence a write, and their commit order.

none                 the token is stored, but not compared
conditional-update   one UPDATE with the mark in its WHERE
select-for-update    lock the row, compare in the client, update, commit
upsert               INSERT … ON DUPLICATE KEY UPDATE, with the comparison in each assignment; needs
                     no row beforehand

Each accepted write and fence adds a row to `audit`, in the same transaction and after the
update, so that the row lock orders the sequence: that is the commit order. All but
select-for-update send a write as one message, a compound statement with its own transaction, so
that a request delayed in the network can still take effect later.

An upsert has no WHERE, and its count of rows is the same for a refused write as for a first one:
so the comparison keeps its result in a variable. It is made by the first assignment, because
later ones see the columns that it has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, as_stored, from_stored
from workloads.mariadb_connection import MariadbConnection, database_of, drop_database
from workloads.settings import StorageSettings
from workloads.sql_transaction import compare, transaction

# Strings are compared byte by byte, spaces at their end included.
_TEXT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_TABLES = f"""
CREATE TABLE register (
    resource VARCHAR(255) {_TEXT} PRIMARY KEY, value LONGTEXT {_TEXT},
    token BIGINT NOT NULL, mark BIGINT NOT NULL
) ENGINE=InnoDB;
CREATE TABLE audit (
    seq BIGINT AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(255) {_TEXT} NOT NULL, token BIGINT NOT NULL, value LONGTEXT {_TEXT},
    fence BOOLEAN NOT NULL DEFAULT FALSE, CHECK (fence = (value IS NULL))
) ENGINE=InnoDB
"""
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
_LOG_WRITE = """IF @accepted THEN
        INSERT INTO audit (resource, token, value) VALUES (%(resource)s, %(token)s, %(value)s);
    END IF;"""
_LOG_FENCE = """IF @accepted THEN
        INSERT INTO audit (resource, token, fence) VALUES (%(resource)s, %(token)s, TRUE);
    END IF;"""
_STEPS = """BEGIN NOT ATOMIC
    {write};
    {log}
    SELECT @accepted, (SELECT COUNT(*) FROM register WHERE resource = %(resource)s);
END"""
# What follows the COMMIT reads no table: an error there would look like one before it.
_TRANSACTION = """BEGIN NOT ATOMIC
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    {write};
    {log}
    SET @existing = (SELECT COUNT(*) FROM register WHERE resource = %(resource)s);
    COMMIT;
    SELECT @accepted, @existing;
END"""
_LOCK_ROW = "SELECT mark FROM register WHERE resource = %(resource)s FOR UPDATE"
_BELOW = {"strict": "<", "inclusive": "<="}
_READ = "SELECT value, token FROM register WHERE resource = %(resource)s"
_ADD_ROW = "INSERT INTO register VALUES (%(resource)s, NULL, %(token)s, %(token)s)"


class MariadbStorage:
    """One client of the register."""

    def __init__(
        self, connection: MariadbConnection, fencing: str, policy: str, *, logged: bool = True
    ) -> None:
        self._connection = connection
        self._inclusive = policy == "inclusive"
        self._fencing = fencing
        self._logged = logged
        self._write = _write_statement(fencing, policy, logged=logged)

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        number = as_stored(token)
        if self._fencing == "select-for-update":
            with transaction(self._connection):
                locked = self._connection.execute(_LOCK_ROW, {"resource": resource})
                compare(locked, resource, number, inclusive=self._inclusive)
                self.write_row(resource, number, value, sent)
        else:
            self.write_row(resource, number, value, sent)

    def write_row(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with what compares in the statement itself; with select-for-update, that is nothing."""
        written: dict[str, str | int] = {"resource": resource, "token": token, "value": value}
        rows = self._connection.execute(self._write, written, sent)
        if rows:
            accepted, existing = rows[0]
        else:  # it is not logged, and one statement
            accepted = self._connection.matched
            existing = accepted or self.read(resource) != (None, 0)
        if accepted:
            return
        if existing:
            raise Stale
        raise NotApplied(f"no row for {resource}")

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        rows = self._connection.execute(_READ, {"resource": resource})
        if not rows:
            return None, 0
        value, token = rows[0]
        return None if value is None else str(value), from_stored(int(token or 0))

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        raised = _TRANSACTION.format(write=_RAISE, log=_LOG_FENCE)
        ((accepted, _),) = self._connection.execute(raised, {"resource": resource, "token": token})
        if not accepted:
            raise Stale

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def sharing(self, settings: StorageSettings) -> MariadbStorage:
        """Make a client with other settings on the same connection."""
        return _on(self._connection, settings)


def _write_statement(fencing: str, policy: str, *, logged: bool) -> str:
    below = _BELOW[policy]
    steps = _STEPS if fencing == "select-for-update" else _TRANSACTION
    if fencing == "upsert":
        return steps.format(write=_UPSERT.format(below=below), log=_LOG_WRITE if logged else "")
    guard = f" AND mark {below} %(token)s" if fencing == "conditional-update" else ""
    update = _UPDATE.format(guard=guard)
    return steps.format(write=update + _COUNTED, log=_LOG_WRITE) if logged else update


def connect(settings: StorageSettings) -> MariadbStorage:
    """Make a client."""
    return _on(make_connection(settings), settings)


def _on(connection: MariadbConnection, settings: StorageSettings) -> MariadbStorage:
    return MariadbStorage(connection, settings.fencing, settings.policy, logged=settings.logged)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create the tables, and a row for each resource unless the fencing is an upsert."""
    if settings.names:
        with closing(MariadbConnection(settings, None)) as connection:
            connection.execute(f"CREATE DATABASE {database_of(settings.names)}")
    with closing(make_connection(settings)) as connection:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        if settings.fencing != "upsert":
            for resource in resources:
                connection.execute(_ADD_ROW, {"resource": resource, "token": UNWRITTEN})


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order."""
    query = "SELECT seq, resource, token, value, fence FROM audit ORDER BY seq"
    with closing(make_connection(settings)) as connection:
        for seq, resource, token, value, fence in connection.rows(query):
            yield Commit(
                seq=int(seq or 0),
                resource=str(resource),
                token=from_stored(int(token or 0)),
                value=None if value is None else str(value),
                fence=bool(fence),
            )


def remove(settings: StorageSettings) -> int:
    """Drop the database of a run; return whether there was one."""
    with closing(MariadbConnection(settings, None)) as connection:
        return drop_database(connection, database_of(settings.names))


def make_connection(settings: StorageSettings) -> MariadbConnection:
    """Make a connection, which the first statement opens."""
    return MariadbConnection(settings, database_of(settings.names))
