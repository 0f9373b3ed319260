"""Clocks of real servers that jump or drift, observed from outside and by the expiry of keys."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster, Engine
from harness.nemesis.clock import TOLERANCE, clock_moved
from harness.network import redis_server
from harness.network.http_requests import json_answer
from harness.network.systems import SYSTEMS
from harness.network.topology import ServerSpec, Topology
from tests.support.systems import redis_at, run_named
from tests.support.waiting import PATIENCE, wait_for
from workloads.redis_connection import RedisConnection

HOUR = NS["h"]
OTHERS = {
    "postgres": "postgres",
    "zookeeper-storage": "zookeeper",
    "dynamodb": "dynamodb",
    "etcd-storage": "etcd",
}
TOPOLOGY = Topology(
    servers=(
        *(ServerSpec(name=f"redis-{number}", system="redis") for number in (1, 2, 3)),
        *(ServerSpec(name=name, system=system, cluster="storage") for name, system in OTHERS.items()),
    ),
    clients=2,
    partitions=False,
    clocks=("redis-1", "redis-3", *OTHERS),
)


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with docker_engine.start(TOPOLOGY, run_named("clock"), tmp_path_factory.mktemp("run"), print) as cluster:
        yield cluster


def redis(cluster: Cluster, number: int) -> RedisConnection:
    return redis_at(cluster.servers[number - 1].address)


def ahead(cluster: Cluster) -> list[int]:
    """Return how far each Redis server's clock is ahead of ours, in hours."""
    return [
        round((redis_server.clock(each.address) - time.time_ns()) / HOUR)
        for each in cluster.servers
        if each.system == "redis"
    ]


def gained(cluster: Cluster, name: str, before: int) -> int:
    """Return how far a server's clock is ahead of what it was, in hours."""
    return round((shown(cluster, name) - before) / HOUR)


def shown(cluster: Cluster, name: str) -> int:
    """Return how far a server's clock is ahead of our monotonic one (ns)."""
    (server,) = (each for each in cluster.servers if each.name == name)
    clock = SYSTEMS[server.system].clock
    assert clock is not None
    return clock.read(server.address) - time.monotonic_ns()


@pytest.mark.slow
def test_the_clock_of_one_server_jumps_until_the_block_ends(cluster: Cluster) -> None:
    with clock_moved(cluster, "lock:redis-3", ["redis-3"], jump=HOUR) as fault:
        during = ahead(cluster)
        evidence, healed_during = fault.evidence, fault.healed

    assert during == [0, 0, 1]
    assert (fault.kind, fault.target) == ("clock", "lock:redis-3")
    assert "redis-3 is 3" in evidence
    assert "s ahead of the right time" in evidence
    assert not healed_during
    assert "redis-3 is" in fault.healed
    assert ahead(cluster) == [0, 0, 0]


def test_keys_expire_when_the_clock_jumps_past_their_end(cluster: Cluster) -> None:
    third, second = redis(cluster, 3), redis(cluster, 2)
    for each in (third, second):
        each.execute("SET", "lock", "mine", "PX", 60_000)

    with clock_moved(cluster, "lock:redis-3", ["redis-3"], jump=HOUR):
        during = [each.execute("GET", "lock") for each in (third, second)]

    assert during == [None, "mine"]


def test_a_clock_is_corrected_when_the_block_is_cut_short(cluster: Cluster) -> None:
    with pytest.raises(KeyboardInterrupt), clock_moved(cluster, "lock", ["redis-1", "redis-3"], jump=HOUR):
        raise KeyboardInterrupt

    assert ahead(cluster) == [0, 0, 0]


def test_a_clock_that_does_not_move_is_not_in_force(cluster: Cluster) -> None:
    """redis-2 was started without the library that moves its clock."""
    with (
        pytest.raises(FaultNotInstalledError, match=r"redis-2 is .* the right time"),
        clock_moved(cluster, "lock:redis-2", ["redis-2"], jump=2 * TOLERANCE),
    ):
        pass

    assert ahead(cluster) == [0, 0, 0]


def test_the_local_engine_refuses_to_move_a_clock(local_engine: Any) -> None:
    assert "use Docker" in str(local_engine.refusal(TOPOLOGY))


@pytest.mark.parametrize(
    ("name", "left"), [("postgres", 0), ("dynamodb", 0), ("etcd-storage", 0), ("zookeeper-storage", 1)]
)
def test_clocks_of_others_jump_and_all_but_zookeepers_return(cluster: Cluster, name: str, left: int) -> None:
    before = shown(cluster, name)

    with clock_moved(cluster, f"storage:{name}", [name], jump=HOUR) as fault:
        during = gained(cluster, name, before)

    assert during == 1
    assert f"{name} is 3" in fault.evidence
    assert gained(cluster, name, before) == left
    assert f"{name} is {'3' if left else ''}" in fault.healed


def test_a_session_of_zookeeper_ends_when_the_clock_jumps(cluster: Cluster) -> None:
    """The client is gone: one that reconnects before the server looks for ended sessions keeps its own."""
    (server,) = (each for each in cluster.servers if each.system == "zookeeper")
    die_with_a_session(str(server.address), "/held", seconds=10 * PATIENCE)
    assert exists(str(server.address), "/held")

    with clock_moved(cluster, "storage:zookeeper-storage", ["zookeeper-storage"], jump=HOUR):
        assert wait_for(lambda: not exists(str(server.address), "/held"))


def die_with_a_session(address: str, node: str, seconds: float) -> None:
    """Leave an ephemeral node behind, whose session lasts."""
    create = (
        "import os, sys; from kazoo.client import KazooClient;"
        "client = KazooClient(sys.argv[1], timeout=float(sys.argv[3])); client.start();"
        "client.create(sys.argv[2], ephemeral=True); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", create, address, node, str(seconds)], check=True, timeout=PATIENCE)


def exists(address: str, node: str) -> bool:
    client = KazooClient(address)
    client.start(PATIENCE)
    try:
        return client.exists(node) is not None
    finally:
        client.stop()
        client.close()


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_lease_of_etcd_outlives_a_jump_of_the_wall_clock(cluster: Cluster, jump: int) -> None:
    (server,) = (each for each in cluster.servers if each.system == "etcd")
    lease = json_answer(server.address, "/v3/lease/grant", {"TTL": 600})["ID"]

    with clock_moved(cluster, "storage:etcd-storage", ["etcd-storage"], jump=jump):
        left = int(json_answer(server.address, "/v3/lease/timetolive", {"ID": lease})["TTL"])

    assert 500 < left <= 600


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["redis-1", "zookeeper-storage"])
def test_a_clock_that_drifts_gains_a_second_in_each(cluster: Cluster, name: str) -> None:
    with clock_moved(cluster, name, [name], drift=1.0) as fault:
        started, before = time.monotonic_ns(), shown(cluster, name)
        assert wait_for(lambda: time.monotonic_ns() - started > 5 * NS["s"])
        elapsed, faster = time.monotonic_ns() - started, shown(cluster, name) - before
    after = shown(cluster, name)
    assert wait_for(lambda: time.monotonic_ns() - started > 15 * NS["s"])

    assert abs(faster - elapsed) < TOLERANCE
    assert "ahead of the right time" in fault.evidence
    assert abs(shown(cluster, name) - after) < TOLERANCE


@pytest.mark.slow
def test_keys_outlive_their_time_while_the_clock_is_back(cluster: Cluster) -> None:
    third, second = redis(cluster, 3), redis(cluster, 2)
    for each in (third, second):
        each.execute("SET", "lock", "mine", "PX", 2000)

    with clock_moved(cluster, "lock:redis-3", ["redis-3"], jump=-HOUR) as fault:
        hours = ahead(cluster)
        assert wait_for(lambda: second.execute("GET", "lock") is None)
        during = third.execute("GET", "lock")

    assert hours == [0, 0, -1]
    assert during == "mine"
    assert "behind the right time" in fault.evidence
    assert wait_for(lambda: third.execute("GET", "lock") is None)
    assert ahead(cluster) == [0, 0, 0]
