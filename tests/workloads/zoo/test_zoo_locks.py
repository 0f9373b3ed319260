"""Each planted bug of a lock, shown directly on real servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, endpoints, lock_clients, started
from tests.support.waiting import wait_for
from workloads.client import NotApplied
from workloads.etcd_api import Connection
from workloads.locks import polling
from workloads.locks.redis import lock_key
from workloads.redis_connection import RedisConnection
from workloads.zoo import get_then_del_unlock, redlock_one_clock_jumped

SHORT = SECOND // 5  # a lease that ends soon without renewals
LONG = 60 * SECOND  # nothing is renewed while a test runs
DEADLINE = 120.0  # seconds


@pytest.fixture(scope="module")
def redis(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    specs = (ServerSpec(name=f"redis-{number}", system="redis") for number in range(1, 6))
    with started(local_engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        yield endpoints(cluster, "redis")


@pytest.fixture(scope="module")
def etcd(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    specs = (ServerSpec(name=f"etcd-{number}", system="etcd") for number in range(1, 4))
    with started(local_engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        yield endpoints(cluster, "etcd")


@pytest.fixture(scope="module")
def old_etcd(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="etcd-1", system="etcd", image="fencepost/etcd-3.4")
    with started(docker_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "etcd")


@pytest.fixture(scope="module")
def zookeeper(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="zookeeper-1", system="zookeeper")
    with started(docker_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "zookeeper")


@pytest.fixture
def open_lock() -> Iterator[Any]:
    with lock_clients() as open_one:
        yield lambda *what, **settings: open_one(*what, **settings)[0]


@pytest.fixture
def ask_each(redis: Any) -> Iterator[Any]:
    """Functions that send commands to each Redis directly."""
    connections = [RedisConnection(endpoint, 1.0, endpoint.password) for endpoint in redis]
    yield [connection.execute for connection in connections]
    for connection in connections:
        connection.close()


@pytest.fixture
def ask(ask_each: Any) -> Any:
    return ask_each[0]


def in_background(action: Any, *arguments: str) -> Any:
    """Run an action in a thread; return a function that waits for it and returns its result."""
    came = []
    thread = threading.Thread(target=lambda: came.append(action(*arguments)))
    thread.start()

    def end() -> Any:
        thread.join(DEADLINE)
        return came[0]

    return end


@pytest.mark.slow
def test_a_pause_between_set_and_incr_gives_the_older_lock_the_newer_token(
    open_lock: Any, redis: Any, resource: str, ask: Any
) -> None:
    second = open_lock("redis", redis)
    others = []

    def while_it_is_stopped(granted: Any, owner: Any) -> None:
        assert ask("GET", lock_key(granted)) == owner
        others.append(second.acquire(granted, "1-1"))

    first = open_lock(
        "workloads.zoo.separate_incr_after_set:SeparateIncrAfterSet",
        redis,
        ttl=SHORT,
        granted=while_it_is_stopped,
    )
    late = first.acquire(resource, "0-1")
    (newer,) = others

    assert late.attempt < newer.attempt
    assert late.token > newer.token
    assert ask("GET", lock_key(resource)) == "1-1"


@pytest.mark.slow
def test_get_then_del_frees_another_clients_lock(
    open_lock: Any, redis: Any, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(get_then_del_unlock, "METRIC", 3.0)
    first = open_lock("workloads.zoo.get_then_del_unlock:GetThenDelUnlock", redis, ttl=SHORT)
    second, third = (open_lock("redis", redis, client=client, ttl=LONG) for client in (1, 2))
    first.acquire(resource, "0-1")

    released = in_background(first.release, resource, "0-1")
    held = second.acquire(resource, "1-1")
    released()
    granted = third.acquire(resource, "2-1")

    assert granted.attempt < held.attempt + LONG
    with pytest.raises(NotApplied, match="not the holder"):
        second.release(resource, "1-1")


def test_the_client_that_waited_longer_has_the_older_clock_reading(
    open_lock: Any, redis: Any, resource: str, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "workloads.zoo.wall_clock_token:WallClockToken"
    holder, patient, quick = (open_lock(kind, redis, client=client, ttl=LONG) for client in range(3))
    holder.acquire(resource, "0-1")
    monkeypatch.setattr(polling, "POLL", 1.0)

    asked = scripts_run(ask)
    later = in_background(patient.acquire, resource, "1-1")
    assert wait_for(lambda: scripts_run(ask) > asked)  # it was refused, and tries again in a second
    holder.release(resource, "0-1")
    granted = quick.acquire(resource, "2-1")
    quick.release(resource, "2-1")

    assert later().token < granted.token


def scripts_run(ask: Any) -> int:
    return int(ask("INFO", "commandstats").partition("cmdstat_eval:calls=")[2].partition(",")[0])


def test_the_random_values_of_redlock_have_no_order(open_lock: Any, redis: Any, resource: str) -> None:
    lock = open_lock("redlock", redis, token="random")
    tokens = []
    for hold in range(8):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert tokens != sorted(tokens)


def test_one_server_that_loses_its_key_gives_redlock_to_two(
    open_lock: Any, redis: Any, resource: str, ask_each: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        redlock_one_clock_jumped, "SERVER_TIMEOUT", 10.0
    )  # three servers must answer, however late
    kind = "workloads.zoo.redlock_one_clock_jumped:RedlockOneClockJumped"
    first, second = (
        open_lock(kind, redis, client=client, token="wall-clock", ttl=LONG) for client in range(2)
    )
    held = first.acquire(resource, "0-1")
    asked = [ask("GET", lock_key(resource)) for ask in ask_each]

    ask_each[2]("DEL", lock_key(resource))  # like the key's expiry after a clock jump
    granted = second.acquire(resource, "1-1")

    assert asked == ["0-1", "0-1", "0-1", None, None]
    assert granted.attempt < held.attempt + held.ttl
    assert granted.token > held.token


def test_lease_ids_of_two_members_are_not_in_time_order(
    open_lock: Any, etcd: list[str], resource: str
) -> None:
    kind = "workloads.zoo.lease_id_token:LeaseIdToken"
    locks = [open_lock(kind, etcd, client=client) for client in range(3)]
    tokens = []
    for hold, lock in enumerate([*locks, *locks]):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert len(set(tokens)) == len(tokens)
    assert tokens != sorted(tokens)


def test_a_deleted_counter_issues_the_same_token_again(open_lock: Any, redis: Any, resource: str) -> None:
    lock = open_lock("workloads.zoo.fence_counter_deleted:FenceCounterDeleted", redis)
    first = lock.acquire(resource, "0-1")
    lock.release(resource, "0-1")

    assert lock.acquire(resource, "0-2").token == first.token


def test_a_second_set_removes_the_locks_expiry(open_lock: Any, redis: Any, resource: str, ask: Any) -> None:
    kind = "workloads.zoo.second_set_drops_expiry:SecondSetDropsExpiry"
    open_lock("redis", redis, ttl=LONG).acquire("right", "0-1")
    open_lock(kind, redis, ttl=LONG).acquire(resource, "0-1")

    assert ask("PTTL", lock_key("right")) > 0
    assert ask("PTTL", lock_key(resource)) == -1  # it has none


def test_a_late_renewal_extends_the_lock_of_another(open_lock: Any, redis: Any, resource: str) -> None:
    kind = "workloads.zoo.late_renewal_taken_as_valid:LateRenewalTakenAsValid"
    late, right, holder = (
        open_lock(each, redis, client=client, ttl=LONG)
        for client, each in enumerate((kind, "redis", "redis"))
    )
    late.acquire(resource, "0-1")
    late.release(resource, "0-1")
    holder.acquire(resource, "2-1")

    assert late._renewing.renew(resource, "0-1", "") == LONG
    with pytest.raises(NotApplied, match="lease lost"):
        right._renewing.renew(resource, "1-1", "")


def test_a_renewal_is_not_sent_after_the_lease_by_the_own_clock(
    open_lock: Any, redis: Any, resource: str
) -> None:
    kind = "workloads.zoo.late_renewal_taken_as_valid:LateRenewalTakenAsValid"
    open_lock("redis", redis, ttl=LONG).acquire(resource, "0-1")

    with pytest.raises(NotApplied, match="lease over"):
        open_lock(kind, redis, client=1)._renewing.renew(resource, "1-1", "")


def test_a_lock_is_granted_again_if_its_server_gives_no_answer(
    open_lock: Any, redis: Any, resource: str
) -> None:
    kind = "workloads.zoo.fallback_to_another_server:FallbackToAnotherServer"
    first = open_lock(kind, redis[:2], ttl=LONG).acquire(resource, "0-1")

    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}", redis[1]]
        second = open_lock(kind, servers, client=1, ttl=LONG, timeout=0.2).acquire(resource, "1-1")

    assert first.token == second.token
    assert second.attempt < first.attempt + LONG


@pytest.mark.slow
def test_a_deleted_queue_counts_from_0_again(open_lock: Any, zookeeper: list[str], resource: str) -> None:
    lock = open_lock("workloads.zoo.sequence_number_token:SequenceNumberToken", zookeeper)
    tokens = []
    for hold in range(2):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")
        with pytest.raises(NotApplied, match="the queue was deleted"):
            lock.acquire(resource, "0-9")

    assert tokens == [0, 0]


@pytest.mark.slow
def test_etcd_3_4_grants_two_waiters_at_once_if_one_lease_has_ended(
    open_lock: Any, old_etcd: list[str], resource: str
) -> None:
    holder, dead, waiting = (
        open_lock("etcd-lock", old_etcd, client=client, token="header-revision", ttl=2 * SECOND)
        for client in range(3)
    )
    holder.acquire(resource, "0-1")

    first = in_background(dead.acquire, resource, "1-1")
    assert wait_for(lambda: in_the_queue(old_etcd) == 2)
    dead._lease.stop()
    assert wait_for(lambda: in_the_queue(old_etcd) == 1)
    second = in_background(waiting.acquire, resource, "2-1")
    assert wait_for(lambda: in_the_queue(old_etcd) == 2)
    holder.release(resource, "0-1")

    assert first().token == second().token


def in_the_queue(servers: list[str]) -> int:
    with closing(Connection(servers, 1.0)) as connection:
        return len(connection.call("KV/Range", key=b"fencepost/", range_end=b"fencepost0").kvs)
