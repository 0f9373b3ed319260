"""PostgreSQL as a fenced register: four ways to fence a write, and their commit order.

none                 the token is stored, but not compared
conditional-update   one UPDATE with the mark in its WHERE
select-for-update    lock the row, compare in the client, update, commit
upsert               INSERT … ON CONFLICT DO UPDATE … WHERE; needs no row beforehand

Each accepted write and fence adds a row to `audit`, in the same transaction and after the
update, so that the row lock orders the sequence: that is the commit order. All but
select-for-update send a write as one message, so that a request delayed in the network can
still take effect later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, as_stored, from_stored
from workloads.settings import Settings, StorageSettings, host_and_port
from workloads.sql_transaction import compare, transaction
from workloads.storages.postgres_connection import PostgresConnection

IDLE_IN_TRANSACTION = 5000  # ms; a client stopped in a transaction holds the row lock until then
OURS = "fencepost"
"""The user, the password and the database of servers that an engine started."""
FENCINGS = ("none", "conditional-update", "select-for-update", "upsert")

_TABLES = """
CREATE TABLE register (
    resource text PRIMARY KEY, value text, token bigint NOT NULL, mark bigint NOT NULL
);
CREATE TABLE audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource text NOT NULL, token bigint NOT NULL, value text, fence boolean NOT NULL DEFAULT false,
    CHECK (fence = (value IS NULL))
)
"""
_LOGGED = """WITH written AS (
{statement}
), logged AS (
    INSERT INTO audit (resource, token, value)
    SELECT resource, token, value FROM written RETURNING seq
)
SELECT (SELECT count(*) FROM logged), (SELECT count(*) FROM register WHERE resource = $1)
"""
_UPDATE = """
    UPDATE register SET value = $3, token = $2, mark = $2 WHERE resource = $1 {guard}
    RETURNING resource, token, value"""
_UPSERT = """
    INSERT INTO register (resource, token, mark, value) VALUES ($1, $2, $2, $3)
    ON CONFLICT (resource) DO UPDATE
    SET value = excluded.value, token = excluded.token, mark = excluded.mark
    WHERE register.mark {below} excluded.mark
    RETURNING resource, token, value"""
_LOCK_ROW = "SELECT mark FROM register WHERE resource = $1 FOR UPDATE"
_BELOW = {"strict": "<", "inclusive": "<="}
_FENCE = """WITH raised AS (
    INSERT INTO register (resource, token, mark) VALUES ($1, 0, $2)
    ON CONFLICT (resource) DO UPDATE SET mark = excluded.mark WHERE register.mark <= excluded.mark
    RETURNING resource, mark
)
INSERT INTO audit (resource, token, fence) SELECT resource, mark, true FROM raised RETURNING seq
"""


def conninfo(host: str, port: int, password: str = "", schema: str = "", **login: str) -> str:
    """Return the conninfo of a server that an engine started; the default password is the images' own.

    `login` has what another server needs: user, dbname, sslrootcert, sslcert, sslkey.
    """
    search_path = f" -c search_path={schema}" if schema else ""
    words = {
        "host": host,
        "port": str(port),
        "user": OURS,
        "password": password or ("" if login else OURS),
        "dbname": OURS,
        "sslmode": "verify-full" if "sslrootcert" in login else "disable",
        "gssencmode": "disable",
        "options": f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION}{search_path}",
        **login,
    }
    return " ".join(f"{key}={_quoted(value)}" for key, value in words.items())


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _login(settings: Settings) -> dict[str, str]:
    """Return how to log in to a server that was not started."""
    known, tls = settings.login, settings.login.tls
    login = {"user": known.user, "dbname": known.database} if known.user else {}
    shown = {"sslcert": tls.cert_file, "sslkey": tls.key_file} if tls and tls.cert_file else {}
    return login | ({"sslrootcert": tls.ca_file} if tls else {}) | shown


class PostgresStorage:
    """One client of the register."""

    def __init__(
        self, connection: PostgresConnection, fencing: str, policy: str, *, logged: bool = True
    ) -> None:
        self._connection = connection
        self._inclusive = policy == "inclusive"
        self._fencing = fencing
        self._logged = logged
        write = _write_statement(fencing, policy)
        self._write = _LOGGED.format(statement=write) if logged else write

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        number = as_stored(token)
        if self._fencing == "select-for-update":
            with transaction(self._connection):
                locked = self._connection.execute(_LOCK_ROW, (resource,))
                compare(locked, resource, number, inclusive=self._inclusive)
                self._write_row(resource, number, value, sent)
        else:
            self._write_row(resource, number, value, sent)

    def _write_row(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        self._expect_row(self._connection.execute(self._write, (resource, token, value), sent), resource)

    def _expect_row(self, rows: list[tuple[bytes | None, ...]], resource: str) -> None:
        if self._logged:
            accepted, existing = (int(cell or 0) for cell in rows[0])
        else:
            accepted = len(rows)
            existing = accepted or self.read(resource) != (None, 0)
        if accepted:
            return
        if existing or self._fencing == "upsert":  # it conflicted with a row not yet visible
            raise Stale
        raise NotApplied(f"no row for {resource}")

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        rows = self._connection.execute("SELECT value, token FROM register WHERE resource = $1", (resource,))
        if not rows:
            return None, 0
        value, token = rows[0]
        return None if value is None else value.decode(), from_stored(int(token or 0))

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        if not self._connection.execute(_FENCE, (resource, token)):
            raise Stale

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def sharing(self, settings: StorageSettings) -> PostgresStorage:
        """Make a client with other settings on the same connection."""
        return _on(self._connection, settings)


def _write_statement(fencing: str, policy: str) -> str:
    if fencing == "upsert":
        return _UPSERT.format(below=_BELOW[policy])
    guarded = fencing == "conditional-update"
    return _UPDATE.format(guard=f"AND mark {_BELOW[policy]} $2" if guarded else "")


def statements(fencing: str, policy: str) -> tuple[str, ...]:
    """Return the SQL of a write that is not logged; $1 is the resource, $2 the token, $3 the value."""
    write = _write_statement(fencing, policy)
    return ("BEGIN", _LOCK_ROW, write, "COMMIT") if fencing == "select-for-update" else (write,)


def connect(settings: StorageSettings) -> PostgresStorage:
    """Make a client."""
    return _on(make_connection(settings), settings)


def _on(connection: PostgresConnection, settings: StorageSettings) -> PostgresStorage:
    return PostgresStorage(connection, settings.fencing, settings.policy, logged=settings.logged)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create the tables, and a row for each resource unless the fencing is an upsert."""
    with closing(make_connection(settings)) as connection:
        if settings.names:
            connection.execute(f"CREATE SCHEMA {schema_of(settings.names)}")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        if settings.fencing != "upsert":
            for resource in resources:
                connection.execute("INSERT INTO register VALUES ($1, NULL, $2, $2)", (resource, UNWRITTEN))


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in the commit order of the timeline that survived."""
    query = "SELECT seq, resource, token, value, fence::int FROM audit ORDER BY seq"
    with closing(make_connection(settings, _primary(settings))) as connection:
        for seq, resource, token, value, fence in connection.rows(query):
            yield Commit(
                seq=int(seq or 0),
                resource=(resource or b"").decode(),
                token=from_stored(int(token or 0)),
                value=None if value is None else value.decode(),
                fence=bool(int(fence or 0)),
            )


def remove(settings: StorageSettings) -> int:
    """Drop the schema of a run; return whether there was one."""
    return drop_schema(settings, schema_of(settings.names))


def drop_schema(settings: Settings, schema: str) -> int:
    """Drop a schema with all that is in it; return whether there was one."""
    with closing(make_connection(settings)) as connection:
        found = connection.execute("SELECT FROM pg_namespace WHERE nspname = $1", (schema,))
        if found:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
    return len(found)


def _primary(settings: StorageSettings) -> str:
    """Return the endpoint of the primary: a failover may have replaced the first server."""
    primaries = [endpoint for endpoint in settings.endpoints if _leads(settings, endpoint)]
    if len(primaries) != 1:
        among = ", ".join(settings.endpoints)
        raise NotApplied(f"there must be one primary among {among}, but there are {len(primaries)}")
    return primaries[0]


def _leads(settings: StorageSettings, endpoint: str) -> bool:
    with closing(make_connection(settings, endpoint)) as connection:
        return connection.execute("SELECT pg_is_in_recovery()") == [(b"f",)]


def make_connection(settings: Settings, endpoint: str = "") -> PostgresConnection:
    """Make a connection, which the first statement opens; by default to the first server."""
    host, port = host_and_port(endpoint or settings.endpoints[0])
    login = _login(settings)
    tls = settings.login.tls
    if tls and tls.host != host:  # a proxy, which has no certificate of its own
        host, login["hostaddr"] = tls.host, host
    known = conninfo(host, port, settings.password, schema_of(settings.names), **login)
    return PostgresConnection(known, settings.timeout)


def schema_of(names: str, part: str = "") -> str:
    """Return the schema of a run's tables, or of a part of them; "": the default one."""
    return "_".join(filter(None, ("run", re.sub("[^a-z0-9]", "_", names.lower()), part))) if names else ""
