"""ZooKeeper on real servers: its lock, standalone and as an ensemble, and its fenced register."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from kazoo.security import make_acl

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster, Engine
from harness.network.probe import reply
from harness.network.topology import ServerSpec
from tests.support import systems
from tests.support.stopped import frozen
from tests.support.waiting import PATIENCE, SOON, wait_for
from workloads.client import NotApplied, Stale, Unknown
from workloads.locks import zookeeper as locks
from workloads.storages import zookeeper as storages
from workloads.zookeeper_session import ZookeeperSession

ENSEMBLE = ("zookeeper-1", "zookeeper-2", "zookeeper-3")
pytestmark = pytest.mark.slow  # its servers run only in containers


@pytest.fixture(scope="module")
def zookeeper(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An ensemble of three, and a standalone server."""
    servers = (ServerSpec(name=name, system="zookeeper") for name in (*ENSEMBLE, "zookeeper-storage"))
    with systems.started(docker_engine, tmp_path_factory.mktemp("run"), *servers) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def addresses(zookeeper: Cluster) -> dict[Any, str]:
    return {server.name: str(server.address) for server in zookeeper.servers}


@pytest.fixture(scope="module")
def endpoint(addresses: dict[Any, str]) -> str:
    return addresses["zookeeper-storage"]


@pytest.fixture
def open_lock(addresses: dict[Any, str]) -> Iterator[Any]:
    with systems.lock_clients() as open_any:

        def open_one(
            client: int = 0, servers: Sequence[str] = ("zookeeper-storage",), **settings: Any
        ) -> Any:
            at = [addresses[name] for name in servers]
            return open_any("zookeeper", at, client, **{"timeout": 2.0, "token": "czxid", **settings})

        yield open_one


@pytest.fixture
def open_storage(endpoint: str) -> Iterator[Any]:
    with systems.storage_clients("zookeeper", [endpoint], fencing="version-check") as open_one:
        yield open_one


@pytest.fixture
def resource(endpoint: str) -> str:
    name = next(systems.names)
    storages.set_up(systems.storage_settings("zookeeper", [endpoint]), [name])
    return name


@pytest.fixture
def commits_of(endpoint: str) -> systems.CommitsOf:
    return partial(systems.commits_of, "zookeeper", [endpoint])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an acquire wait for a quarter of a TTL."""
    monkeypatch.setattr(locks, "PATIENCE", 0.25)


def expire(lock: Any) -> None:
    """End a lock's session as its servers would: another connection closes it."""
    kazoo = lock._session._client
    other = type(kazoo)(hosts=kazoo.hosts[0][0] + f":{kazoo.hosts[0][1]}", client_id=kazoo.client_id)
    other.start(5)
    other.stop()
    other.close()


def test_the_servers_report_their_release_and_answer_over_each_edge(zookeeper: Cluster) -> None:
    versions = {each["version"] for each in zookeeper.environment()["servers"].values()}
    answers = [reply(zookeeper.edge(0, each.name), each.system, within=2) for each in zookeeper.servers]

    assert [version[:4] for version in versions] == ["3.9."]
    assert None not in answers


def test_the_token_rises_with_each_grant_of_any_client_at_any_member(open_lock: Any, resource: str) -> None:
    holders = [open_lock(client, servers=ENSEMBLE)[0] for client in range(3)]
    tokens = []
    for hold in range(6):
        lock = holders[hold % 3]
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert tokens == sorted(set(tokens))


def test_the_number_in_the_name_is_the_token_if_the_target_says_so(open_lock: Any, resource: str) -> None:
    lock, _ = open_lock(token="sequence")
    tokens = []
    for hold in range(3):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert tokens == [0, 1, 2]


def test_a_waiter_at_another_member_is_granted_only_after_the_release(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0, servers=ENSEMBLE), open_lock(1, servers=ENSEMBLE)

    held, asked, granted = systems.hand_over(first, second, resource)

    assert granted.token > held.token
    assert granted.attempt > asked + 0.1 * systems.SECOND  # not its first check


def test_a_single_server_promises_the_session_but_an_ensemble_does_not(open_lock: Any, resource: str) -> None:
    (alone, promised), (member, unpromised) = open_lock(), open_lock(servers=ENSEMBLE)
    grants = [alone.acquire(resource, "0-1"), member.acquire(resource, "0-1")]

    assert [grant.ttl for grant in grants] == [None, None]
    assert {event["ttl"] for event in promised.of("ok")} == {systems.TTL}
    assert {event["ttl"] for event in unpromised.of("ok")} == {None}


def test_a_session_without_heartbeats_ends_the_hold_after_its_ttl(open_lock: Any, resource: str) -> None:
    first, memory = open_lock(0)
    second, _ = open_lock(1)
    held = first.acquire(resource, "0-1")
    first._renewals.stop()
    first._session._client._connection._send_ping = lambda _timeout: None

    granted = second.acquire(resource, "1-1")

    assert granted.token > held.token
    assert time.monotonic_ns() > memory.of("invoke")[0]["time"] + systems.TTL
    with pytest.raises((NotApplied, Unknown)):
        first.release(resource, "0-1")


def test_an_expired_session_is_recorded_and_never_counts_as_a_hold(open_lock: Any, resource: str) -> None:
    (first, memory), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")
    expire(first)

    granted = second.acquire(resource, "1-1")
    wait_for(lambda: memory.of("fail"))

    assert granted.token > held.token
    assert memory.of("fail")[0]["f"] == "renew"
    with pytest.raises(NotApplied, match="session lost"):
        first.release(resource, "0-1")
    second.release(resource, "1-1")
    assert first.acquire(resource, "0-2").token > granted.token


def test_a_waiter_whose_session_ends_is_not_granted(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)
    first.acquire(resource, "0-1")
    ended = []

    def wait() -> None:
        try:
            ended.append(second.acquire(resource, "1-1"))
        except (NotApplied, Unknown) as error:
            ended.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    wait_for(lambda: second._path)
    expire(second)
    waiting.join(timeout=PATIENCE)

    assert ended in (["session lost"], ["ConnectionLoss"])  # depending on which kazoo notices first


@pytest.mark.usefixtures("impatient")
def test_a_client_that_waits_too_long_leaves_the_queue(open_lock: Any, resource: str) -> None:
    (first, _), (second, _), (third, _) = open_lock(0), open_lock(1), open_lock(2)
    first.acquire(resource, "0-1")
    with pytest.raises(NotApplied, match="not free"):
        second.acquire(resource, "1-1")

    first.release(resource, "0-1")

    assert third.acquire(resource, "2-1").token


@pytest.mark.usefixtures("impatient")
def test_revoking_ends_only_the_session_of_that_owner(open_lock: Any, resource: str) -> None:
    (first, _), (second, _), (third, _) = open_lock(0), open_lock(1), open_lock(2)
    held = first.acquire(resource, "0-1")
    second.revoke(resource, "1-1")
    with pytest.raises(NotApplied, match="not free"):
        third.acquire(resource, "2-1")

    first.revoke(resource, "0-1")

    assert third.acquire(resource, "2-2").token > held.token


@pytest.mark.usefixtures("impatient")
def test_reconnecting_does_not_end_a_hold_before_its_end_is_recorded(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)
    first.acquire(resource, "0-1")

    first.reconnect()

    with pytest.raises(NotApplied, match="not free"):
        second.acquire(resource, "1-1")
    first.revoke(resource, "0-1")
    assert second.acquire(resource, "1-2").token


def test_an_acquire_from_a_stopped_server_requests_nothing(
    open_lock: Any, resource: str, zookeeper: Cluster
) -> None:
    lock, _ = open_lock(timeout=0.5)

    with frozen(zookeeper, "zookeeper-storage"):
        called = time.monotonic()
        with pytest.raises(NotApplied, match="no session"):
            lock.acquire(resource, "0-1")

    assert time.monotonic() - called < SOON


@pytest.mark.usefixtures("impatient")
def test_a_held_lock_outlives_its_connection(open_lock: Any, resource: str) -> None:
    (first, memory), (second, _) = open_lock(0, servers=ENSEMBLE), open_lock(1, servers=ENSEMBLE)
    first.acquire(resource, "0-1")
    first._session._client._connection._socket.shutdown(socket.SHUT_RDWR)

    with pytest.raises(NotApplied, match="not free"):
        second.acquire(resource, "1-1")

    assert not memory.of("fail")
    first.release(resource, "0-1")


def test_a_mark_that_changes_between_read_and_write_is_read_again(
    open_storage: Any, resource: str, commits_of: systems.CommitsOf
) -> None:
    slow, quick = open_storage(), open_storage()
    compared = slow._version_below

    def overtaken(resource: Any, token: Any) -> Any:
        version = compared(resource, token)
        slow._version_below = compared
        quick.write(resource, 5, "quick", systems.nothing)
        return version

    slow._version_below = overtaken
    slow.write(resource, 6, "slow", systems.nothing)
    slow._version_below = overtaken
    quick.write(resource, 7, "newest", systems.nothing)
    with pytest.raises(Stale):
        slow.write(resource, 6, "late", systems.nothing)

    assert commits_of(resource) == [(5, "quick"), (6, "slow"), (7, "newest")]


def test_no_session_applies_nothing() -> None:
    storage = storages.connect(systems.storage_settings("zookeeper", ["127.0.0.1:1"], timeout=0.2))
    settings = systems.lock_settings("zookeeper", ["127.0.0.1:1"], timeout=0.2, token="czxid")
    lock = locks.connect(settings, RecordedSession(systems.Memory(), 0, 1))

    with pytest.raises(NotApplied, match="no session"):
        storage.write("r0", 1, "never", systems.nothing)
    with pytest.raises(NotApplied, match="no session"):
        lock.acquire("r0", "0-1")


def test_an_ended_session_refuses_every_call(endpoint: str) -> None:
    session = ZookeeperSession([endpoint], 2, 2)
    session.end()

    with pytest.raises(NotApplied, match="session lost"):
        session.call("exists", "/")


def test_a_request_without_the_rights_for_it_did_nothing(
    endpoint: str, resource: str, open_storage: Any
) -> None:
    session = ZookeeperSession([endpoint], 2, 2)
    session.call("set_acls", f"/fencepost-register/{resource}", [make_acl("world", "anyone", read=True)])

    with pytest.raises(NotApplied, match="NoAuthError"):
        session.call("set", f"/fencepost-register/{resource}", b"")
    with pytest.raises(NotApplied, match="NoAuthError"):
        open_storage().write(resource, 1, "v", systems.nothing)
    session.end()
