"""The systems: port, probe, readiness check and version of each."""

from __future__ import annotations

import functools
import http.client
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from harness.core.duration import NS
from harness.network import (
    hazelcast_server,
    kubernetes_server,
    mariadb_server,
    nats_server,
    postgres_server,
    redis_server,
    sentinel_server,
)
from harness.network.http_requests import header_of, json_answer
from harness.network.topology import Address
from harness.network.unfit import Unfit

TIMEOUT = 2.0  # s; per request
LOGIN = 10.0  # s
MOST = 2**20  # bytes of one answer
HALF = 0.5  # s; the middle of the second that a Date shows
KAHUNA_INVALID_INPUT, KAHUNA_NO_SUCH_LOCK = 100, 102  # `type` of an answer


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
    after_greeting: Callable[[bytes], bytes] | None = None  # it speaks first: what answers the probe itself
    begin_tls: Callable[[socket.socket], bool] | None = (
        None  # asks for TLS, which its clients speak themselves
    )
    may_speak_tls: bool = True  # to servers that already run; its clients here may not
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
def nats_is_usable(address: Address) -> bool:
    """Does its JetStream answer? Unfit if it has none."""
    if not nats_server.has_jetstream(address):
        raise Unfit("runs without JetStream: start it with --jetstream")
    return nats_server.is_usable(address)


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
        is_usable=postgres_server.is_usable,
        version=postgres_server.version,
        probe=postgres_server.PROBE,
        answers=(b"S", b"N"),
        begin_tls=postgres_server.begins_tls,
        password=postgres_server.PASSWORD,
        oldest=(14,),  # has the setting recovery_init_sync_method
        stop_signal="SIGINT",  # with SIGTERM, it waits for its clients to leave
        clock=ServerClock(read=postgres_server.clock, shown_by="clock_timestamp()"),
    ),
    "pgbouncer": System(
        port=5432,
        is_usable=postgres_server.is_usable,
        version=postgres_server.pgbouncer_version,
        probe=postgres_server.PROBE,
        answers=(b"S", b"N"),
    ),
    "mariadb": System(
        port=3306,
        is_usable=mariadb_server.is_usable,
        version=mariadb_server.version,
        probe=mariadb_server.PROBE,
        answers=mariadb_server.GREETINGS,
        speaks=b"MariaDB",
        after_greeting=mariadb_server.after_greeting,
        begin_tls=mariadb_server.begins_tls,
        password=mariadb_server.PASSWORD,
        oldest=(10, 3),  # has the setting idle_transaction_timeout
        clock=ServerClock(read=mariadb_server.clock, shown_by="SYSDATE(6)"),
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
    "sentinel": System(
        port=26379,
        is_usable=sentinel_server.is_usable,
        version=redis_server.version,
        probe=sentinel_server.PROBE,
        answers=(sentinel_server.ANSWER,),
        oldest=(6, 2),  # knows servers by names
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
    "nats": System(
        port=4222,
        is_usable=nats_is_usable,
        version=nats_server.version,
        probe=b"PING\r\n",
        answers=(b"INFO {",),  # it speaks first
        may_speak_tls=False,
        oldest=(2, 10),  # the oldest that was tried
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


def begin_tls(system: str) -> Callable[[socket.socket], bool] | None:
    """Return what asks a server for TLS, if clients of its system speak that themselves; None if not."""
    return SYSTEMS[system].begin_tls if system in SYSTEMS else None


def _zookeeper_answer(address: Address, word: bytes = b"srvr") -> bytes:
    """Send a four-letter word; the server answers and closes."""
    with socket.create_connection((address.host, address.port), TIMEOUT) as connection:
        connection.sendall(word)
        with connection.makefile("rb") as answer:
            return answer.read(MOST)
