"""Redis on a real server: its lock and its fenced register."""

from __future__ import annotations

import itertools
import random
import threading
import time

import pytest
from stopped import frozen
from systems import TTL, Memory, endpoints, lock_settings, storage_settings

from harness.engines import ServerSpec, Topology
from harness.recorder import RecordedSession
from workloads.client import NotApplied, Stale, Unknown
from workloads.locks import redis as locks
from workloads.redis_connection import RedisConnection
from workloads.storages import redis as storages

POLICIES = ["strict", "inclusive"]
names = (f"r{number}" for number in itertools.count())


def nothing() -> None:
    """Do nothing once the request has left."""


@pytest.fixture(scope="module")
def redis(local_engine, tmp_path_factory):
    topology = Topology(servers=(ServerSpec(name="redis-1", system="redis"),), clients=1, partitions=False)
    if refused := local_engine.refusal(topology):
        pytest.skip(refused)
    with local_engine.start(topology, "test-redis", tmp_path_factory.mktemp("run"), print) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def endpoint(redis):
    return endpoints(redis, "redis")[0]


@pytest.fixture
def open_lock(endpoint):
    opened = []

    def open_one(client=0, timeout=1.0):
        memory = Memory()
        session = RecordedSession(memory, process=10 + client, stride=100)
        settings = lock_settings("redis", [endpoint], client=client, timeout=timeout)
        opened.append(locks.connect(settings, session))
        return opened[-1], memory

    yield open_one
    for lock in opened:
        lock.close()


@pytest.fixture
def open_storage(endpoint):
    opened = []

    def open_one(fencing="script", policy="strict", timeout=1.0):
        settings = storage_settings("redis", [endpoint], fencing=fencing, policy=policy, timeout=timeout)
        opened.append(storages.connect(settings))
        return opened[-1]

    yield open_one
    for storage in opened:
        storage.reconnect()


@pytest.fixture
def resource(endpoint):
    name = next(names)
    storages.set_up(storage_settings("redis", [endpoint]), [name])
    return name


@pytest.fixture
def commits_of(endpoint):
    def read(resource):
        commits = storages.committed(storage_settings("redis", [endpoint]))
        assert [each.seq for each in commits] == list(range(1, len(commits) + 1))
        return [(each.token, each.value) for each in commits if each.resource == resource]

    return read


def test_the_token_rises_with_each_grant(open_lock, resource):
    lock, _ = open_lock()
    tokens = []
    for hold in range(3):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert tokens == [1, 2, 3]


def test_a_waiter_is_granted_after_the_release_and_not_before(open_lock, resource):
    (first, _), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")
    granted = []
    waiting = threading.Thread(target=lambda: granted.append(second.acquire(resource, "1-1")))
    waiting.start()
    waiting.join(timeout=0.3)
    assert waiting.is_alive()

    released = time.monotonic_ns()
    first.release(resource, "0-1")
    waiting.join(timeout=5)

    assert granted[0].token > held.token
    assert granted[0].attempt > released


def test_a_lease_that_nobody_renews_ends_the_hold_and_not_before_its_ttl(open_lock, resource):
    (first, _), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")
    first._renewals.stop()

    granted = second.acquire(resource, "1-1")

    assert granted.token > held.token
    assert time.monotonic_ns() > held.attempt + held.ttl
    with pytest.raises(NotApplied, match="not the holder"):
        first.release(resource, "0-1")


def test_a_lease_that_is_renewed_outlasts_its_ttl(open_lock, resource):
    lock, memory = open_lock()
    lock.acquire(resource, "0-1")
    until = time.monotonic_ns() + round(1.5 * TTL)
    while time.monotonic_ns() < until:
        time.sleep(0.01)

    lock.release(resource, "0-1")

    renewals = memory.of("ok")
    assert len(renewals) >= 3
    assert all((event["f"], event["ttl"], event["owner"]) == ("renew", TTL, "0-1") for event in renewals)


def test_a_lost_lease_is_recorded_as_a_renewal_that_failed(open_lock, endpoint, resource):
    lock, memory = open_lock()
    lock.acquire(resource, "0-1")
    RedisConnection(endpoint, 1).execute("DEL", f"fencepost/{resource}/lock")

    deadline = time.monotonic() + 5
    while not memory.of("fail") and time.monotonic() < deadline:
        time.sleep(0.01)

    (failed,) = memory.of("fail")
    assert (failed["f"], failed["error"]) == ("renew", "lease lost")


def test_revoking_frees_the_lock_of_that_owner_alone(open_lock, resource):
    (first, _), (second, _) = open_lock(0), open_lock(1)
    first.acquire(resource, "0-1")
    second.revoke(resource, "1-1")
    with pytest.raises(NotApplied, match="not free"):
        second.acquire(resource, "1-2")

    first.revoke(resource, "0-1")

    assert second.acquire(resource, "1-3").token == 2


def test_a_lock_call_to_a_stopped_server_ends_in_doubt_at_its_deadline(open_lock, resource, redis):
    lock, _ = open_lock(timeout=0.5)
    lock.acquire(resource, "0-1")
    lock._renewals.stop()

    with frozen(redis, "redis-1"):
        called = time.monotonic()
        with pytest.raises(Unknown, match="Timeout"):
            lock.release(resource, "0-1")
        took = time.monotonic() - called

    assert 0.5 <= took < 1.5


@pytest.mark.parametrize("policy", POLICIES)
def test_the_script_refuses_an_older_token(open_storage, resource, commits_of, policy):
    storage = open_storage(policy=policy)
    storage.write(resource, 10, "new", nothing)

    with pytest.raises(Stale):
        storage.write(resource, 9, "old", nothing)

    assert storage.read(resource) == ("new", 10)
    assert commits_of(resource) == [(10, "new")]


def test_an_unfenced_storage_takes_an_older_token(open_storage, resource, commits_of):
    storage = open_storage("none")
    storage.write(resource, 10, "new", nothing)
    storage.write(resource, 9, "old", nothing)

    assert storage.read(resource) == ("old", 9)
    assert commits_of(resource) == [(10, "new"), (9, "old")]


def test_an_equal_token_is_stale_under_the_policy_strict_only(open_storage, resource):
    open_storage().write(resource, 7, "first", nothing)

    with pytest.raises(Stale):
        open_storage().write(resource, 7, "second", nothing)
    open_storage(policy="inclusive").write(resource, 7, "third", nothing)


@pytest.mark.parametrize(("mark", "token"), [(9, 10), (2**53, 2**53 + 1), (999, 1000), (2**62, 2**63 - 1)])
def test_tokens_are_compared_as_numbers_of_any_size(open_storage, resource, mark, token):
    storage = open_storage()
    storage.write(resource, mark, "lower", nothing)
    storage.write(resource, token, "higher", nothing)

    with pytest.raises(Stale):
        storage.write(resource, mark, "late", nothing)

    assert storage.read(resource) == ("higher", token)


def test_a_missing_hash_is_no_success_and_not_stale(open_storage, commits_of):
    with pytest.raises(NotApplied, match="no hash"):
        open_storage().write("nowhere", 1, "lost", nothing)

    assert open_storage().read("nowhere") == (None, 0)
    assert commits_of("nowhere") == []


@pytest.mark.parametrize("policy", POLICIES)
def test_writers_that_race_commit_in_token_order(open_storage, resource, commits_of, policy):
    storages_of_writers = [open_storage(policy=policy) for _ in range(4)]
    tokens = random.Random(1).sample(range(1, 201), 200)

    def write(number):
        for token in tokens[number::4]:
            try:
                storages_of_writers[number].write(resource, token, f"v{token}", nothing)
            except Stale:
                continue

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    committed = [token for token, _ in commits_of(resource)]
    assert committed == sorted(committed)
    assert committed[-1] == 200


def test_a_write_to_a_stopped_server_ends_in_doubt_and_lands_once(open_storage, resource, redis, commits_of):
    storage = open_storage(timeout=0.5)
    storage.read(resource)
    sent = []

    with frozen(redis, "redis-1"):
        called = time.monotonic()
        with pytest.raises(Unknown, match="Timeout"):
            storage.write(resource, 1, "late", lambda: sent.append(time.monotonic()))
        took = time.monotonic() - called

    deadline = time.monotonic() + 5
    while not commits_of(resource) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 0.5 <= took < 1.5
    assert len(sent) == 1
    assert commits_of(resource) == [(1, "late")]


def test_a_connection_to_a_stopped_server_ends_at_its_deadline_with_nothing_sent(
    open_storage, resource, redis
):
    storage = open_storage(timeout=0.5)

    with frozen(redis, "redis-1"):
        called = time.monotonic()
        with pytest.raises((Unknown, NotApplied)):
            storage.write(resource, 1, "never", nothing)

    assert time.monotonic() - called < 1.5


def test_a_refused_connection_applies_nothing():
    storage = storages.connect(storage_settings("redis", ["127.0.0.1:1"]))
    lock = locks.connect(lock_settings("redis", ["127.0.0.1:1"]), RecordedSession(Memory(), 0, 1))

    with pytest.raises(NotApplied, match="refused"):
        storage.write("r0", 1, "never", nothing)
    with pytest.raises(NotApplied, match="refused"):
        lock.acquire("r0", "0-1")
