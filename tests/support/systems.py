"""Locks and storages of each kind on servers that run, for tests that hold for all of them."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster, Engine
from harness.network.topology import Address, ServerSpec, Topology
from harness.spec import load
from tests.support.missing import need
from tests.support.selection import nightly
from tests.support.waiting import PATIENCE
from workloads.client import Grant, Lock, Storage
from workloads.locks import connect
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings, Login, RedisLockSettings, SqlLeaseSettings, StorageSettings
from workloads.storages import load_kind

SECOND = 1_000_000_000
TTL = 2 * SECOND
FENCE = "(fence)"
OLD_ETCD = "3.5.15"
"""The release of etcd that slow tests run; it takes a minute or more to build."""
ENOUGH = 10.0  # s for a call to a storage that answers, also on a slow machine
LOCKS = {
    "etcd": ("etcd", 1, "create-revision"),
    "etcd-lock": ("etcd", 1, "create-revision"),
    "get-lock": ("mariadb", 1, "counter"),
    "http": ("http", 1, "fencing-token"),
    "kahuna": ("kahuna", 1, "fencing-token"),
    "nats": ("nats", 3, "revision"),
    "redis": ("redis", 1, "counter"),
    "redlock": ("redis", 5, "wall-clock"),
    "s3": ("s3", 1, "epoch"),
    "sql-lease on mariadb": ("mariadb", 1, "counter"),
    "sql-lease on postgres": ("postgres", 1, "counter"),
    "zookeeper": ("zookeeper", 1, "czxid"),
}
"""The system of each lock, its number of servers, and a token that rises without faults.

A lease in a table has the database after its kind."""
ENGINES = {
    "dynamodb": "docker_engine",
    "get-lock": "docker_engine",
    "http": "script_engine",
    "kahuna": "script_engine",
    "mariadb": "docker_engine",
    "nats": "docker_engine",
    "s3": "docker_engine",
    "sql-lease on mariadb": "docker_engine",
    "zookeeper": "docker_engine",
}
"""The fixtures of the engines of systems that the local engine lacks."""

RELEASES = {"nats": load("nats-postgres").lock.version}
"""The releases of systems whose images are built by release, which takes a minute or more: for the night."""

FENCINGS = {
    "sqlite": ["conditional-update"],
    "postgres": ["conditional-update", "select-for-update", "upsert"],
    "mariadb": ["conditional-update", "select-for-update", "upsert"],
    "etcd": ["transaction"],
    "redis": ["script"],
    "zookeeper": ["version-check"],
    "dynamodb": ["conditional-expression"],
    "s3": ["if-match"],
}
MAKES_ITS_ITEMS = {"upsert", "conditional-expression", "if-match"}
"""Fencings whose first write creates the resource."""
IN_CONTAINERS = {"zookeeper", "dynamodb", "mariadb", "s3"}
"""Storages that the local engine lacks."""

CommitsOf = Callable[[str], list[tuple[Any, Any]]]
"""The token and the value of each accepted write of a resource."""

names = (f"r{number}" for number in itertools.count())
"""Resources that no other test has."""


def nothing() -> None:
    """Do nothing once the request has left."""


def run_named(name: str) -> str:
    """A run's id; another's tests may run on this machine at the same time."""
    return f"test-{name}-{secrets.token_hex(4)}"


def lock_kinds() -> list[object]:
    """The kinds of locks, as parameters."""
    return [
        each for kind, (system, *_) in LOCKS.items() for each in ([kind], nightly(kind))[system in RELEASES]
    ]


def server(name: str, system: str) -> ServerSpec:
    """A server for a test."""
    return ServerSpec(name=name, system=system, release=RELEASES.get(system, ""))


def started(engine: Engine, folder: Path, *servers: ServerSpec) -> AbstractContextManager[Cluster]:
    """Start servers for one client; the test is skipped where the engine lacks them."""
    topology = Topology(servers=servers, clients=1, partitions=False)
    need(engine, topology)
    return engine.start(topology, run_named(servers[0].system), folder, print)


class Endpoint(str):
    """Where a server is, and the credentials that it needs."""

    __slots__ = ("password",)
    password: str

    def __new__(cls, at: str, password: str = "") -> Self:
        made = super().__new__(cls, at)
        made.password = password
        return made


def endpoint_of(address: Address) -> Endpoint:
    """An address as a client gets it."""
    return Endpoint(str(address), address.login.password)


def password_of(endpoints: Sequence[str]) -> str:
    """What the servers there ask for."""
    return next((each.password for each in endpoints if isinstance(each, Endpoint)), "")


def redis_at(address: Address, timeout: float = 10.0) -> RedisConnection:
    """A connection to a Redis server that an engine has started."""
    return RedisConnection(str(address), timeout, address.login.password)


class Memory:
    """A recorder that keeps its events."""

    passwords = ()

    def __init__(self) -> None:
        self.events: list[Any] = []

    def record(self, event: Any) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event["type"] == kind]


def lock_settings(
    kind: str,
    endpoints: list[Any] | tuple[str, ...],
    *,
    client: int = 0,
    timeout: float = 1.0,
    token: str = "",
    ttl: int = TTL,
    names: str = "",
    wait_for_replica: bool = False,
) -> LockSettings:
    kind, _, system = kind.partition(" on ")
    made: Callable[..., LockSettings] = LockSettings
    if wait_for_replica:
        made = partial(RedisLockSettings, wait_for_replica=True)
    if kind == "sql-lease":
        made = partial(SqlLeaseSettings, system=system)
    return made(
        kind=kind,
        endpoints=tuple(endpoints),
        ttl=ttl,
        timeout=timeout,
        client=client,
        token=token,
        login=Login(password=password_of(endpoints)),
        names=names,
    )


def storage_settings(
    kind: str,
    endpoints: Sequence[str] | list[Any] | tuple[str, ...],
    *,
    fencing: str = "none",
    policy: str = "strict",
    timeout: float = ENOUGH,
    names: str = "",
) -> StorageSettings:
    return StorageSettings(
        kind=kind,
        endpoints=tuple(endpoints),
        fencing=fencing,
        policy=policy,
        timeout=timeout,
        login=Login(password=password_of(endpoints)),
        names=names,
    )


def hand_over(first: Lock, second: Lock, resource: str) -> tuple[Grant, int, Grant]:
    """Have a holder release a lock that another waits for: its grant, when the other asked (ns), its grant."""
    held = first.acquire(resource, "0-1")
    granted: list[Grant] = []
    waiting = threading.Thread(target=lambda: granted.append(second.acquire(resource, "1-1")))
    asked = time.monotonic_ns()
    waiting.start()
    waiting.join(timeout=0.3)
    assert waiting.is_alive(), "granted to both"

    first.release(resource, "0-1")
    waiting.join(timeout=PATIENCE)
    return held, asked, granted[0]


@contextmanager
def lock_clients() -> Iterator[Callable[..., tuple[Any, Memory]]]:
    """Give a function that opens clients, each with what its renewals record; close them all at the end."""
    opened: list[Lock] = []

    def open_one(
        kind: str,
        endpoints: Any,
        client: int = 0,
        granted: Any = lambda _resource, _owner: None,
        **settings: Any,
    ) -> tuple[Lock, Memory]:
        memory = Memory()
        session = RecordedSession(memory, process=10 + client, stride=100, granted=granted)
        opened.append(connect(lock_settings(kind, endpoints, client=client, **settings), session))
        return opened[-1], memory

    yield open_one
    for lock in opened:
        lock.close()


@contextmanager
def storage_clients(
    kind: str, endpoints: Sequence[str], *, fencing: str, timeout: float = ENOUGH
) -> Iterator[Callable[..., Storage]]:
    """Give a function that opens clients, by default with this fencing; close them all at the end."""
    opened = []

    def open_one(fencing: str = fencing, policy: str = "strict", timeout: float = timeout) -> Any:
        settings = storage_settings(kind, endpoints, fencing=fencing, policy=policy, timeout=timeout)
        opened.append(load_kind(kind).connect(settings))
        return opened[-1]

    yield open_one
    for storage in opened:
        storage.reconnect()


def commits_of(kind: str, endpoints: Sequence[str], resource: str) -> list[tuple[Any, Any]]:
    """Read token and value of each accepted write of a resource, in the storage's own order.

    A fence has `FENCE` in place of a value.
    """
    commits = list(load_kind(kind).committed(storage_settings(kind, endpoints, timeout=10)) or ())
    places = [each.seq for each in commits]
    assert places == sorted(set(places))
    assert all((each.value is None) == each.fence for each in commits)
    return [
        (each.token, FENCE if each.fence else each.value) for each in commits if each.resource == resource
    ]


def endpoints(cluster: Cluster, system: str) -> list[str]:
    return [endpoint_of(server.address) for server in cluster.servers if server.system == system]


def postgres_from(image: str | None) -> Topology:
    """Return a topology of one PostgreSQL, on an image other than ours if given."""
    server = ServerSpec(name="postgres", system="postgres", image=image)
    return Topology(servers=(server,), clients=1, partitions=False)
