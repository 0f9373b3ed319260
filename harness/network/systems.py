"""The systems: port, probe, readiness check and version of each."""

from __future__ import annotations

import functools
import http.client
import re
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

from harness.core.duration import NS
from harness.network import hazelcast_server, kubernetes_server, redis_server
from harness.network.http_requests import header_of, json_answer
from harness.network.topology import Address
from workloads.settings import Login

TIMEOUT = 2.0  # s; per request
LOGIN = 10.0  # s
MOST = 2**20  # bytes of one answer
HALF = 0.5  # s; the middle of the second that a Date shows
KAHUNA_INVALID_INPUT, KAHUNA_NO_SUCH_LOCK = 100, 102  # `type` of an answer
POSTGRES_LOGIN = "user=fencepost dbname=fencepost sslmode=disable"
POSTGRES_PASSWORD = "fencepost"  # noqa: S105 - in images, unless the engine has set another
POSTGRES_PROBE = struct.pack("!ii", 8, 80877103)  # SSLRequest: needs no login; the answer is one byte
POSTGRES_REFUSALS = (
    "authentication failed",
    "authentication method",
    "does not exist",
    "no pg_hba.conf entry",
    "not permitted to log in",
    "pg_hba.conf rejects",
)
"""Its messages for a login that can never succeed; libpq passes on the text without its code."""
POSTGRES_IS_USABLE = (
    "SELECT NOT pg_is_in_recovery() OR EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')"
)


class Unfit(Exception):  # noqa: N818 - a property of the server, not an error of the program
    """The server runs, but can never become usable; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerClock:
    """The clock of a kind of server, as it shows it itself; in an image of ours it can be moved."""

    read: Callable[[Address], int]  # ns since some moment; OSError if it does not answer
    shown_by: str  # what the server is asked for
    is_monotonic: bool = False  # it never goes back, and leases end by it; otherwise it is the wall clock
    in_vdso: bool = False  # the server asks the kernel's vDSO for the time, not libc


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One kind of server."""

    port: int  # inside its container
    is_usable: Callable[[Address], bool]
    version: Callable[[Address], str]
    probe: bytes  # sent over a new connection, this is answered immediately ...
    answers: tuple[bytes, ...]  # ... with one of these prefixes ...
    speaks: bytes = b""  # ... and this content
    tls_request: bytes = b""  # its clients send this, in plain text, before they speak TLS themselves
    password: str = ""  # in our images; the engine may set another
    log_in: Callable[[Sequence[Address]], str] | None = None  # of its members, once for all clients: a ticket
    locked: bytes = b""  # the answer if it requires a password
    oldest: tuple[int, ...] = ()  # the oldest release that clients support; (): it reports none
    stop_signal: str = "SIGTERM"  # for an orderly end
    leads: Callable[[Address], bool] | None = None  # does this member lead? None: there are no leaders
    is_led: Callable[[Address], bool] | None = None  # does it know a leader? None: ask whether it is usable
    clock: ServerClock | None = None  # None: it cannot be moved


def _if_it_answers(ask: Callable[[Address], bool]) -> Callable[[Address], bool]:
    """Let the answer be False if a server does not answer, or not as it should."""

    @functools.wraps(ask)
    def asked(address: Address) -> bool:
        try:
            return ask(address)
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False

    return asked


@_if_it_answers
def etcd_is_usable(address: Address) -> bool:
    """Does a member answer linearizable reads? It does once there is a leader."""
    return bool(json_answer(address, "/health").get("health") == "true")


def etcd_version(address: Address) -> str:
    """Return such as "3.5.16"."""
    return str(json_answer(address, "/version")["etcdserver"])


@_if_it_answers
def etcd_leads(address: Address) -> bool:
    """Is this member the leader, by its own account?"""
    status = json_answer(address, "/v3/maintenance/status", {})
    return bool(status["leader"] == status["header"]["member_id"])


@_if_it_answers
def etcd_is_led(address: Address) -> bool:
    """Does this member know a leader, by its own account? Unlike `etcd_is_usable`, it answers at once."""
    return bool(json_answer(address, "/v3/maintenance/status", {}).get("leader", "0") != "0")


def etcd_ticket(members: Sequence[Address]) -> str:
    """Log in once for all clients, which spares the server hashing; NotApplied or Unknown if refused."""
    from workloads.etcd_api import Connection  # slow to import

    who = members[0].login
    at = tuple(map(str, members))
    with closing(Connection(at, LOGIN, user=who.user, password=who.password)) as connection:
        return connection.log_in()


def postgres_is_usable(address: Address) -> bool:
    """Can `fencepost` log in to its database, and a standby receive? Unfit if it never will log in."""
    import psycopg

    try:
        return postgres_row(address, POSTGRES_IS_USABLE) == (True,)
    except psycopg.OperationalError as error:
        said = str(error).strip().rpartition("\n")[2].rpartition("failed: ")[2]
        if any(words in said for words in POSTGRES_REFUSALS):
            raise Unfit(
                f"refuses user fencepost: {said}; its image must let that user into the database "
                "fencepost, without a password or with the password fencepost"
            ) from None
        return False


def postgres_version(address: Address) -> str:
    """Return such as "17.5 (Debian 17.5-1)"."""
    return str(postgres_row(address, "SHOW server_version")[0])


def pgbouncer_version(address: Address) -> str:
    """Return such as "PgBouncer 1.24.1 before PostgreSQL 17.5 (Debian 17.5-1)"."""
    console = replace(address, login=Login(user="fencepost", database="pgbouncer"))
    return f"{postgres_row(console, 'SHOW VERSION')[0]} before PostgreSQL {postgres_version(address)}"


def postgres_clock(address: Address) -> int:
    """Return a server's wall clock (ns since 1970); OSError if it does not answer."""
    import psycopg

    try:
        (microseconds,) = postgres_row(address, "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::int8")
    except psycopg.OperationalError as error:
        raise ConnectionError(" ".join(str(error).split())) from None
    return int(microseconds) * NS["us"]


@_if_it_answers
def zookeeper_leads(address: Address) -> bool:
    """Is this server the leader, or the only one, by its own account?"""
    status = _zookeeper_answer(address)
    return b"Mode: leader" in status or b"Mode: standalone" in status


def zookeeper_version(address: Address) -> str:
    """Return such as "3.9.3"."""
    first = _zookeeper_answer(address).splitlines()[0].decode()
    return first.removeprefix("Zookeeper version: ").partition("-")[0]


def zookeeper_clock(address: Address) -> int:
    """Return how long a server has been up by the clock that ends sessions (ns); OSError if unknown."""
    found = re.search(rb"^zk_uptime\t(\d+)$", _zookeeper_answer(address, b"mntr"), re.MULTILINE)
    if found is None:
        raise ConnectionError(f"ZooKeeper at {address} did not answer mntr with its uptime")
    return int(found[1]) * NS["ms"]


def http_clock(address: Address) -> int:
    """Return a server's wall clock (ns since 1970), to half a second; OSError if it does not answer."""
    try:
        shown = header_of(address, "Date")
        return round((parsedate_to_datetime(shown).timestamp() + HALF) * NS["s"])
    except (http.client.HTTPException, ValueError) as error:
        raise ConnectionError(f"the server at {address} shows no time: {error}") from None


@_if_it_answers
def kahuna_is_usable(address: Address) -> bool:
    """Does its partition have a leader, and so answer a release? Unfit if it is too old to know `owner`."""
    asked = {"resource": "fencepost", "owner": "ZmVuY2Vwb3N0", "durability": 1}
    said = json_answer(address, "/v1/locks/try-unlock", asked).get("type")
    if said == KAHUNA_INVALID_INPUT:
        raise Unfit("does not know the field `owner`; Fencepost needs Kahuna 1.1 or newer")
    return said == KAHUNA_NO_SUCH_LOCK


@_if_it_answers
def names_itself(address: Address) -> bool:
    """Does it speak HTTP, and name itself? It answers nothing more to a request without a signature."""
    return bool(header_of(address, "Server"))


def without_version(name: str) -> Callable[[Address], str]:
    """Return what says such as "Kahuna on Kestrel" of a server that does not report its version."""
    return lambda address: f"{name} on {header_of(address, 'Server') or 'an unnamed server'}"


SYSTEMS: dict[str, System] = {
    "etcd": System(
        port=2379,
        is_usable=etcd_is_usable,
        version=etcd_version,
        probe=b"GET /version HTTP/1.0\r\n\r\n",
        answers=(b"HTTP/1.",),
        speaks=b"etcdserver",
        clock=ServerClock(read=http_clock, shown_by="the Date of its answers", in_vdso=True),
        oldest=(3, 4),
        log_in=etcd_ticket,
        leads=etcd_leads,
        is_led=etcd_is_led,
    ),
    "postgres": System(
        port=5432,
        is_usable=postgres_is_usable,
        version=postgres_version,
        probe=POSTGRES_PROBE,
        answers=(b"S", b"N"),
        tls_request=POSTGRES_PROBE,
        password=POSTGRES_PASSWORD,
        oldest=(14,),  # has the setting recovery_init_sync_method
        stop_signal="SIGINT",  # with SIGTERM, it waits for its clients to leave
        clock=ServerClock(read=postgres_clock, shown_by="clock_timestamp()"),
    ),
    "pgbouncer": System(
        port=5432,
        is_usable=postgres_is_usable,
        version=pgbouncer_version,
        probe=POSTGRES_PROBE,
        answers=(b"S", b"N"),
    ),
    "redis": System(
        port=6379,
        is_usable=redis_server.is_usable,
        version=redis_server.version,
        probe=b"PING\r\n",
        answers=(b"+PONG", b"-LOADING", b"-NOAUTH"),
        locked=b"-NOAUTH",
        oldest=(6, 2),  # can page through a stream
        clock=ServerClock(read=redis_server.clock, shown_by="TIME"),
    ),
    "zookeeper": System(
        port=2181,
        is_usable=_if_it_answers(lambda address: b"Zookeeper version" in _zookeeper_answer(address)),
        version=zookeeper_version,
        probe=b"srvr",
        answers=(b"Zookeeper version", b"This ZooKeeper instance"),
        oldest=(3, 5),  # returns the stat of a created znode
        leads=zookeeper_leads,
        clock=ServerClock(read=zookeeper_clock, shown_by="zk_uptime", is_monotonic=True),
    ),
    "dynamodb": System(
        port=8000,
        is_usable=names_itself,
        version=without_version("DynamoDB Local"),
        probe=b"GET / HTTP/1.0\r\n\r\n",
        answers=(b"HTTP/1.",),
        speaks=b"dynamodb",
        clock=ServerClock(read=http_clock, shown_by="the Date of its answers"),
    ),
    "s3": System(
        port=9000,
        is_usable=names_itself,
        version=without_version("S3"),
        probe=b"GET / HTTP/1.0\r\n\r\n",
        answers=(b"HTTP/1.",),
        speaks=b"<?xml",
    ),
    "hazelcast": System(
        port=5701,
        is_usable=hazelcast_server.is_usable,
        version=hazelcast_server.version,
        probe=b"GET / HTTP/1.0\r\n\r\n",  # not its clients' protocol: it says so, and closes the connection
        answers=(hazelcast_server.WRONG_PROTOCOL,),
        oldest=(5,),  # has the setting missing-cp-member-auto-removal-seconds
    ),
    "kubernetes": System(
        port=6443,
        is_usable=_if_it_answers(kubernetes_server.is_usable),
        version=kubernetes_server.version,
        probe=b"GET / HTTP/1.0\r\n\r\n",
        answers=(kubernetes_server.REFUSES_PLAIN_TEXT,),
        password=kubernetes_server.TOKEN,
    ),
    "kahuna": System(
        port=8081,
        is_usable=kahuna_is_usable,
        version=without_version("Kahuna"),  # its image has one
        probe=b"GET / HTTP/1.0\r\n\r\n",
        answers=(b"HTTP/1.",),
        speaks=b"Kahuna",
    ),
}


def asks_for_tls(system: str) -> bytes:
    """Return what clients of a system send before they speak TLS themselves; empty if they speak none."""
    return SYSTEMS[system].tls_request if system in SYSTEMS else b""


def postgres_row(address: Address, query: str) -> tuple[Any, ...]:
    """Return the row that a query on a PostgreSQL server returns; psycopg.OperationalError if it fails."""
    import psycopg

    where = f"host={address.host} port={address.port} connect_timeout={TIMEOUT:.0f}"
    known = address.login
    login: dict[str, Any] = {"password": known.password or POSTGRES_PASSWORD}
    if known.user:  # of a server that we did not start
        login = {"user": known.user, "password": known.password, "dbname": known.database}
    if known.tls:
        login |= {"sslmode": "verify-full", "sslrootcert": known.tls.ca_file}
    if known.tls and known.tls.cert_file:
        login |= {"sslcert": known.tls.cert_file, "sslkey": known.tls.key_file}
    with psycopg.connect(f"{where} {POSTGRES_LOGIN}", **login, autocommit=True) as connection:
        row: tuple[Any, ...] | None = connection.execute(query.encode()).fetchone()
    assert row is not None, f"it has one row: {query}"  # noqa: S101
    return row


def _zookeeper_answer(address: Address, word: bytes = b"srvr") -> bytes:
    """Send a four-letter word; the server answers and closes."""
    with socket.create_connection((address.host, address.port), TIMEOUT) as connection:
        connection.sendall(word)
        with connection.makefile("rb") as answer:
            return answer.read(MOST)
