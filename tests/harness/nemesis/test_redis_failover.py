"""Failover of real Redis servers, observed over the clients' edges.

Only the start of the servers differs between the engines.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster, Engine
from harness.nemesis.failover import redis_failover
from harness.network import redis_server
from harness.network.topology import Link, NetworkEdge, ServerSpec, Topology
from tests.support.selection import BOTH_ENGINES
from tests.support.systems import Memory, endpoint_of, lock_settings, redis_at, run_named
from tests.support.waiting import PATIENCE
from workloads.client import Unknown
from workloads.locks import connect
from workloads.locks.redis import lock_key
from workloads.redis_connection import RedisConnection

pytestmark = pytest.mark.engine

LINK = Link("redis-replica", "redis-1")
TOPOLOGY = Topology(
    servers=(
        ServerSpec(name="redis-1", system="redis"),
        ServerSpec(name="redis-replica", system="redis", follows="redis-1"),
    ),
    clients=2,
    partitions=True,
)


@pytest.fixture
def cluster(local_engine: Engine, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    with replicating(local_engine, run_id, tmp_path) as cluster:
        yield cluster


@pytest.fixture(params=BOTH_ENGINES)
def cluster_of_each_engine(request: pytest.FixtureRequest, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    engine = request.getfixturevalue(f"{request.param}_engine")
    with replicating(engine, run_id, tmp_path) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def unchanged_cluster(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Servers for the tests that promote none."""
    with replicating(local_engine, run_named("replicated"), tmp_path_factory.mktemp("run")) as cluster:
        yield cluster


@contextmanager
def replicating(engine: Engine, run_id: str, folder: Path) -> Iterator[Cluster]:
    with engine.start(TOPOLOGY, run_id, folder, print) as cluster:
        wait_until_the_replica_follows(cluster)
        yield cluster


def wait_until_the_replica_follows(cluster: Any) -> None:
    """A server that has just started may take longer than a client would wait."""
    primary = redis_at(at(cluster, "redis-1"))
    deadline = time.monotonic() + PATIENCE
    primary.execute("SET", "probe", 1)
    while not reached_replica(primary, 500):
        assert time.monotonic() < deadline, "the replica does not follow"


def promoted(cluster: Any, hold: Any = None) -> Any:
    return redis_failover(cluster, "lock", LINK, range(2), hold)


def over_edge(cluster: str, *command: int | str, client: int = 0) -> Any:
    return edge(cluster, client).execute(*command)


def edge(cluster: Any, client: Any = 0) -> RedisConnection:
    return redis_at(cluster.edge(client, "redis-1"))


def at(cluster: Any, name: Any) -> Any:
    return next(server.address for server in cluster.servers if server.name == name)


def answering(cluster: Any) -> list[str]:
    """Return the process that answers over each client's edge to redis-1."""
    return [redis_server.run_id(cluster.edge(client, "redis-1")) for client in (0, 1)]


def count_to_one(cluster: str) -> None:
    """Increment a counter, and check that the replica has it."""
    client = edge(cluster)
    assert client.execute("INCR", "token") == 1
    assert reached_replica(client, 1000)


def reached_replica(connection: RedisConnection, milliseconds: int) -> Any:
    """Does the replica have the writes of this connection?"""
    return connection.execute("WAIT", 1, milliseconds) == 1


def test_every_edge_leads_to_the_replica_and_the_old_primary_follows_it(cluster_of_each_engine: Any) -> None:
    cluster = cluster_of_each_engine
    before, replica = answering(cluster), redis_server.run_id(at(cluster, "redis-replica"))
    count_to_one(cluster)

    with promoted(cluster) as fault:
        during = answering(cluster)
        counted = over_edge(cluster, "INCR", "token", client=1)

    assert replica not in before
    assert during == [replica, replica]
    assert counted == 2
    assert "redis-replica reports role master" in fault.evidence
    assert "redis-1 reports role slave" in fault.healed
    assert redis_server.role(at(cluster, "redis-1")).role == "slave"
    assert over_edge(cluster, "WAIT", 1, 2000) == 1  # it has a replica again


def test_writes_acknowledged_while_the_link_is_held_are_lost(cluster_of_each_engine: Any) -> None:
    cluster = cluster_of_each_engine
    count_to_one(cluster)

    def acknowledge() -> None:
        client = edge(cluster)
        assert [client.execute("INCR", "token") for _ in range(3)] == [2, 3, 4]
        assert not reached_replica(client, 100)

    with promoted(cluster, acknowledge) as fault:
        again = over_edge(cluster, "INCR", "token")

    assert again == 2
    assert "bandwidth 0 toxic upstream+downstream" in fault.evidence
    assert redis_at(at(cluster, "redis-1")).execute("GET", "token") == "2"


@pytest.mark.slow
def test_a_grant_that_waits_for_a_held_link_is_unknown(cluster: Any) -> None:
    settings = lock_settings("redis", [endpoint_of(cluster.edge(0, "redis-1"))], wait_for_replica=True)
    lock = connect(settings, RecordedSession(Memory(), 1, 2))
    first = lock.acquire("r0", "a").token
    lock.release("r0", "a")

    def refuse() -> None:
        with pytest.raises(Unknown, match="not replicated within"):
            lock.acquire("r0", "b")
        lock.revoke("r0", "b")

    with promoted(cluster, refuse):
        pass
    lock.reconnect()
    second = lock.acquire("r0", "c").token

    assert second > first
    lock.close()


def test_granted_is_reported_before_the_wait_for_the_replica(unchanged_cluster: Any) -> None:
    cluster, reported = unchanged_cluster, []
    settings = lock_settings("redis", [endpoint_of(cluster.edge(0, "redis-1"))], wait_for_replica=True)
    session = RecordedSession(
        Memory(), 1, 2, granted=lambda *hold: reported.append((*hold, over_edge(cluster, "GET", key)))
    )
    key = lock_key("r7")
    lock = connect(settings, session)

    lock.acquire("r7", "a")

    assert reported == [("r7", "a", "a")]
    lock.close()


def test_a_wait_on_another_connection_does_not_confirm_a_grant(unchanged_cluster: Any) -> None:
    """As after a pause with a failover: WAIT on a new connection has nothing to wait for, and succeeds."""
    address = endpoint_of(unchanged_cluster.edge(0, "redis-1"))
    settings = lock_settings("redis", [address], wait_for_replica=True)
    opened: list[Any] = []
    session = RecordedSession(Memory(), 1, 2, granted=lambda *_hold: opened[0].reconnect())
    opened.append(connect(settings, session))

    with pytest.raises(Unknown, match="the connection was closed in between"):
        opened[0].acquire("r8", "a")
    opened[0].revoke("r8", "a")
    opened[0].close()


def test_an_interrupted_hold_is_undone(unchanged_cluster: Any) -> None:
    cluster = unchanged_cluster
    before = answering(cluster)

    def interrupt() -> None:
        over_edge(cluster, "INCR", "token")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), promoted(cluster, interrupt):
        pass

    assert answering(cluster) == before
    assert over_edge(cluster, "WAIT", 1, 2000) == 1
    assert redis_at(at(cluster, "redis-replica")).execute("GET", "token") == "1"


def test_the_old_primary_follows_if_the_block_is_cut_short(cluster: str) -> None:
    with pytest.raises(ZeroDivisionError), promoted(cluster):
        raise ZeroDivisionError

    assert redis_server.role(at(cluster, "redis-replica")).role == "master"
    assert redis_server.role(at(cluster, "redis-1")).role == "slave"


def test_a_server_that_is_no_replica_is_not_promoted(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.nemesis.failover.SETTLING", 0.1)
    redis_server.follow(at(cluster, "redis-replica"), None)

    with pytest.raises(FaultNotInstalledError, match="redis-replica is RedisRole"), promoted(cluster):
        pass

    assert cluster.toxiproxy.state(NetworkEdge(0, "redis-1")).enabled
