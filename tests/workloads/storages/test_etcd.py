"""Lock and storage in the same etcd: a write is accepted while the key of its lock is there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support import systems
from workloads.client import NotApplied, Stale
from workloads.settings import EtcdStorageSettings
from workloads.storages import etcd

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def address(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    server = ServerSpec(name="etcd-1", system="etcd")
    with systems.started(local_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield systems.endpoints(cluster, "etcd")


@pytest.fixture(params=["etcd", "etcd-lock"])
def open_lock(request: pytest.FixtureRequest, address: list[str]) -> Iterator[Callable[[], Any]]:
    clients = itertools.count()
    with systems.lock_clients() as open_one:
        yield lambda: open_one(request.param, address, next(clients), token="create-revision")[0]


@pytest.fixture
def storage(address: list[str]) -> Iterator[Any]:
    with systems.storage_clients("etcd", address, fencing="lock-key") as open_one:
        yield open_one(policy="inclusive")


@pytest.fixture
def resource(address: list[str]) -> Any:
    name = f"r{next(numbers)}"
    etcd.set_up(systems.storage_settings("etcd", address, fencing="lock-key"), [name])
    return name


def test_a_holder_may_write_again_and_again(open_lock: Any, storage: Any, resource: Any) -> None:
    token = open_lock().acquire(resource, "0-1").token
    storage.write(resource, token, "first", systems.nothing)
    storage.write(resource, token, "second", systems.nothing)

    assert storage.read(resource) == ("second", token)


def test_a_write_after_a_newer_holders_is_stale(open_lock: Any, storage: Any, resource: Any) -> None:
    older, newer = open_lock(), open_lock()
    first = older.acquire(resource, "0-1").token
    older.release(resource, "0-1")
    second = newer.acquire(resource, "1-1").token
    storage.write(resource, second, "new", systems.nothing)

    with pytest.raises(Stale):
        storage.write(resource, first, "old", systems.nothing)
    assert storage.read(resource) == ("new", second)


def test_a_write_without_its_lock_is_stale_only_after_a_newer_write(
    open_lock: Any, storage: Any, resource: Any
) -> None:
    older, newer = open_lock(), open_lock()
    first = older.acquire(resource, "0-1").token
    storage.write(resource, first, "own", systems.nothing)
    older.release(resource, "0-1")

    with pytest.raises(NotApplied, match="lock lost") as while_free:
        storage.write(resource, first, "late", systems.nothing)
    newer.acquire(resource, "1-1")
    with pytest.raises(NotApplied, match="lock lost") as while_held:
        storage.write(resource, first, "late", systems.nothing)

    assert {type(while_free.value), type(while_held.value)} == {NotApplied}
    assert storage.read(resource) == ("own", first)


def test_a_lock_of_another_resource_allows_no_write(open_lock: Any, storage: Any, resource: Any) -> None:
    other = f"{resource}0"
    token = open_lock().acquire(other, "0-1").token

    with pytest.raises(NotApplied, match="lock lost"):
        storage.write(resource, token, "elsewhere", systems.nothing)


def test_a_missing_register_is_neither_a_success_nor_stale(open_lock: Any, storage: Any) -> None:
    token = open_lock().acquire("nowhere", "0-1").token

    with pytest.raises(NotApplied, match="no key for nowhere"):
        storage.write("nowhere", token, "lost", systems.nothing)


def test_with_round_robin_each_call_goes_to_the_next_member(address: list[str]) -> None:
    alone = systems.storage_settings("etcd", address, fencing="none", names="round-robin")
    etcd.set_up(alone, ["r0"])
    both = (*address, "127.0.0.1:1")
    register = etcd.connect(
        EtcdStorageSettings(
            kind="etcd",
            endpoints=both,
            timeout=alone.timeout,
            names=alone.names,
            fencing="none",
            policy="strict",
            round_robin=True,
        )
    )

    outcomes = []
    for _ in range(4):
        try:
            outcomes.append(register.read("r0"))
        except NotApplied:
            outcomes.append("refused")

    assert outcomes == ["refused", (None, 0), "refused", (None, 0)]
