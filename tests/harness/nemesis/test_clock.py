"""Clock jumps of real Redis servers, observed by TIME and by the expiry of keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster, Engine
from harness.nemesis.clock import TOLERANCE, clock_jump
from harness.network import redis_server
from harness.network.topology import ServerSpec, Topology
from tests.support.systems import redis_at, run_named
from workloads.redis_connection import RedisConnection

HOUR = NS["h"]
TOPOLOGY = Topology(
    servers=tuple(ServerSpec(name=f"redis-{number}", system="redis") for number in (1, 2, 3)),
    clients=2,
    partitions=False,
    clocks=("redis-1", "redis-3"),
)


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with docker_engine.start(TOPOLOGY, run_named("clock"), tmp_path_factory.mktemp("run"), print) as cluster:
        yield cluster


def redis(cluster: Cluster, number: int) -> RedisConnection:
    return redis_at(cluster.servers[number - 1].address)


def ahead(cluster: Cluster) -> list[int]:
    """Return how far each server's clock is ahead of ours, in hours."""
    return [round((redis_server.clock(each.address) - time.time_ns()) / HOUR) for each in cluster.servers]


def test_the_clock_of_one_server_jumps_until_the_block_ends(cluster: Cluster) -> None:
    with clock_jump(cluster, "lock:redis-3", ["redis-3"], HOUR) as fault:
        during = ahead(cluster)
        evidence, healed_during = fault.evidence, fault.healed

    assert during == [0, 0, 1]
    assert (fault.kind, fault.target) == ("clock", "lock:redis-3")
    assert "redis-3 is 3" in evidence
    assert "s ahead of this machine's clock" in evidence
    assert not healed_during
    assert "redis-3 is" in fault.healed
    assert ahead(cluster) == [0, 0, 0]


def test_keys_expire_when_the_clock_jumps_past_their_end(cluster: Cluster) -> None:
    third, second = redis(cluster, 3), redis(cluster, 2)
    for each in (third, second):
        each.execute("SET", "lock", "mine", "PX", 60_000)

    with clock_jump(cluster, "lock:redis-3", ["redis-3"], HOUR):
        during = [each.execute("GET", "lock") for each in (third, second)]

    assert during == [None, "mine"]


def test_a_clock_is_corrected_when_the_block_is_cut_short(cluster: Cluster) -> None:
    with pytest.raises(KeyboardInterrupt), clock_jump(cluster, "lock", ["redis-1", "redis-3"], HOUR):
        raise KeyboardInterrupt

    assert ahead(cluster) == [0, 0, 0]


def test_a_clock_that_does_not_move_is_not_in_force(cluster: Cluster) -> None:
    """redis-2 was started without the library that moves its clock."""
    with (
        pytest.raises(FaultNotInstalledError, match=r"redis-2 is .* this machine's clock"),
        clock_jump(cluster, "lock:redis-2", ["redis-2"], 2 * TOLERANCE),
    ):
        pass

    assert ahead(cluster) == [0, 0, 0]


def test_the_local_engine_refuses_to_move_a_clock(local_engine: Any) -> None:
    assert "use Docker" in local_engine.refusal(TOPOLOGY)
