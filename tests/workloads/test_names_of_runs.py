"""Two runs on the same servers, each with its own names: neither sees what the other left."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest

import workloads.locks
import workloads.storages
from harness.clients.recorder import RecordedSession
from tests.support import systems
from tests.support.systems import Memory, endpoints, lock_settings, nothing, storage_settings
from workloads.client import Lock, Stale, Storage
from workloads.locks import connect
from workloads.settings import LockSettings, StorageSettings
from workloads.storages import load_kind

pytestmark = pytest.mark.engine

STORAGES = {
    "etcd": ("local_engine", "transaction"),
    "mariadb": ("docker_engine", "conditional-update"),
    "postgres": ("local_engine", "conditional-update"),
    "redis": ("local_engine", "script"),
    "zookeeper": ("docker_engine", "version-check"),
    "dynamodb": ("docker_engine", "conditional-expression"),
    "s3": ("docker_engine", "if-match"),
}
LOCKS = {
    "etcd": ("local_engine", "etcd", 1, "create-revision"),
    "etcd-lock": ("local_engine", "etcd", 1, "create-revision"),
    "get-lock": ("docker_engine", "mariadb", 1, "counter"),
    "kahuna": ("script_engine", "kahuna", 1, "fencing-token"),
    "nats": ("docker_engine", "nats", 3, "revision"),
    "redis": ("local_engine", "redis", 1, "counter"),
    "redlock": ("local_engine", "redis", 3, "highest-counter"),
    "s3": ("docker_engine", "s3", 1, "epoch"),
    "sql-lease on mariadb": ("docker_engine", "mariadb", 1, "counter"),
    "sql-lease on postgres": ("local_engine", "postgres", 1, "counter"),
    "zookeeper": ("docker_engine", "zookeeper", 1, "czxid"),
}
ALONE = {"dynamodb", "mariadb", "postgres"}
"""Systems whose only server has no number in its name."""


def cases(kinds: Mapping[str, tuple[Any, ...]]) -> list[Any]:
    """Return a case for each kind; containers take long to start."""
    nightly = {"docker_engine": pytest.mark.nightly}
    return [pytest.param(kind, marks=nightly.get(engine, ())) for kind, (engine, *_) in kinds.items()]


Servers = Callable[[str, str, int], list[str]]


def new_names() -> str:
    """Return the names of one more run, as its folder would be named."""
    return f"20261122T221003-{secrets.token_hex(3)}"


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Return what starts so many servers of a system, unless they run, and says where they are."""
    running: dict[tuple[str, int], list[str]] = {}
    with ExitStack() as stack:

        def started(engine_name: str, system: str, count: int) -> list[str]:
            if (system, count) not in running:
                engine = request.getfixturevalue(engine_name)
                names = [system] if system in ALONE else [f"{system}-{n + 1}" for n in range(count)]
                specs = [systems.server(name, system) for name in names]
                servers = systems.started(engine, tmp_path_factory.mktemp("run"), *specs)
                running[system, count] = endpoints(stack.enter_context(servers), system)
            return running[system, count]

        yield started


@pytest.fixture(params=cases(STORAGES))
def settings(request: pytest.FixtureRequest, servers: Servers) -> StorageSettings:
    """The settings of the first run, whose last write had the token 10."""
    kind = request.param
    engine, fencing = STORAGES[kind]
    first = storage_settings(kind, servers(engine, kind, 1), fencing=fencing, names=new_names())
    load_kind(kind).set_up(first, ["r0"])
    write(first, 10, "of the first run")
    return first


@contextmanager
def client(settings: StorageSettings) -> Iterator[Storage]:
    """A client that leaves no connection behind: ZooKeeper's would go on in the background."""
    storage = load_kind(settings.kind).connect(settings)
    try:
        yield storage
    finally:
        storage.reconnect()


def write(settings: StorageSettings, token: int, value: str) -> None:
    with client(settings) as storage:
        storage.write("r0", token, value, nothing)


def test_the_marks_and_the_log_of_a_run_are_its_own(settings: StorageSettings) -> None:
    kind, second = load_kind(settings.kind), replace(settings, names=new_names())

    kind.set_up(second, ["r0"])
    with client(second) as storage:
        before = storage.read("r0")
    write(second, 1, "of the second run")

    assert before[0] is None
    logs = [
        [(each.resource, each.token, each.value) for each in kind.committed(of) or ()]
        for of in (settings, second)
    ]
    assert logs == [[("r0", 10, "of the first run")], [("r0", 1, "of the second run")]]
    with pytest.raises(Stale):  # the first run's mark is where it was
        write(settings, 9, "late")


def test_only_what_one_run_left_is_removed(settings: StorageSettings) -> None:
    kind, second = load_kind(settings.kind), replace(settings, names=new_names())
    kind.set_up(second, ["r0"])
    write(second, 1, "of the second run")

    removed = [workloads.storages.remove(of) for of in (second, second)]

    assert removed[0] > 0 == removed[1]
    with pytest.raises(Stale):  # the first run's mark is where it was
        write(settings, 9, "late")


def settings_of_two_runs(servers: Servers, kind: str) -> tuple[LockSettings, LockSettings]:
    engine, system, count, token = LOCKS[kind]
    at = servers(engine, system, count)
    first, second = (lock_settings(kind, at, token=token, names=new_names()) for _ in range(2))
    for each in (first, second):
        workloads.locks.set_up(each)
    return first, second


@pytest.mark.parametrize("kind", cases({kind: LOCKS[kind] for kind in LOCKS if kind != "kahuna"}))
def test_only_the_locks_of_one_run_are_removed(servers: Servers, kind: str) -> None:
    first, second = settings_of_two_runs(servers, kind)
    session = RecordedSession(Memory(), process=10, stride=100)
    with closing(connect(first, session)) as kept, closing(connect(second, session)) as gone:
        kept.acquire("r0", "0-1")
        gone.acquire("r0", "0-1")

        removed = [workloads.locks.remove(second) for _ in range(2)]

        kept.release("r0", "0-1")  # it was held all the time
    assert removed[0] > 0 == removed[1]


@pytest.fixture(params=cases(LOCKS))
def locks(request: pytest.FixtureRequest, servers: Servers) -> Iterator[tuple[Lock, Lock]]:
    """A client of each run."""
    first, second = (
        connect(each, RecordedSession(Memory(), process=10, stride=100))
        for each in settings_of_two_runs(servers, request.param)
    )
    with closing(first), closing(second):
        yield first, second


def test_a_lock_that_another_run_left_held_is_free(locks: tuple[Lock, Lock]) -> None:
    first, second = locks
    left = first.acquire("r0", "0-1")

    found = second.acquire("r0", "0-1")
    second.release("r0", "0-1")

    first.release("r0", "0-1")  # it was held all the time
    assert None not in {left.token, found.token}


def test_every_kind_with_servers_is_tested_here() -> None:
    prefixes, own_file = {"http"}, {"sqlite"}  # an HTTP service gets the run's name with every resource

    assert {kind.partition(" on ")[0] for kind in LOCKS} == workloads.locks.LOCKS.keys() - prefixes
    assert workloads.locks.LOCKS.keys() - workloads.locks.REMOVABLE == {"kahuna", *prefixes}
    assert set(STORAGES) == workloads.storages.STORAGES.keys() - prefixes - own_file
