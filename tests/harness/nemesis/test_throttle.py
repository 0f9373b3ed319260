"""Throttles of real processes and servers: held up while in force, at full speed afterwards."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import docker
import psutil
import pytest

from harness.core.errors import FaultNotInstalledError
from harness.nemesis import throttle
from harness.nemesis.throttle import throttle_client, throttle_servers
from harness.network.topology import NetworkEdge, ServerSpec, Topology
from tests.support.selection import BOTH_ENGINES
from tests.support.systems import redis_at, run_named
from tests.support.waiting import wait_for

TOPOLOGY = Topology(
    servers=(ServerSpec(name="redis-1", system="redis"), ServerSpec(name="postgres", system="postgres")),
    clients=5,
    partitions=False,
    throttled=("redis-1",),
)
EDGES = {NetworkEdge(client, "redis-1") for client in range(5)}
LOOP = "local n = 0; for i = 1, ARGV[1] do n = n + i end; return n"  # work that takes only CPU
STEPS = 5_000_000


@pytest.fixture
def spinner() -> Iterator[psutil.Process]:
    """A process that uses all the CPU it gets."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield psutil.Process(process.pid)
        process.kill()


def used_in(process: psutil.Process, seconds: float) -> float:
    """Return the share of a CPU that a process uses for a while, by its ticks in /proc."""
    started, before = time.monotonic(), sum(process.cpu_times()[:2])
    wait_for(lambda: time.monotonic() > started + seconds)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - started)


@pytest.mark.slow
def test_a_client_gets_its_share_until_the_block_ends(spinner: psutil.Process) -> None:
    with throttle_client(spinner, "client:0", 0.1) as fault:
        during = used_in(spinner, 1.0)
        evidence, healed_during = fault.evidence, fault.healed

    assert during < 0.3
    assert wait_for(lambda: used_in(spinner, 0.5) > during)
    assert (fault.kind, fault.target) == ("throttle", "client:0")
    assert f"process {spinner.pid} runs for 10% of the time" in evidence
    assert not healed_during
    assert "runs again" in fault.healed
    assert spinner.status() != psutil.STATUS_STOPPED


def test_a_client_continues_when_the_block_is_cut_short(spinner: psutil.Process) -> None:
    with pytest.raises(KeyboardInterrupt), throttle_client(spinner, "client:0", 0.01):
        raise KeyboardInterrupt

    assert wait_for(lambda: spinner.status() != psutil.STATUS_STOPPED)


def test_a_client_that_has_ended_is_not_throttled(monkeypatch: Any) -> None:
    monkeypatch.setattr(throttle, "SETTLING", 0.5)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        client = psutil.Process(process.pid)
    with (
        pytest.raises(FaultNotInstalledError, match="client:0 0 times"),
        throttle_client(client, "client:0", 0.1),
    ):
        pass


@pytest.fixture(scope="module", params=BOTH_ENGINES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = request.getfixturevalue(f"{request.param}_engine")
    with engine.start(
        TOPOLOGY, run_named(f"throttle-{request.param}"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def share_used(cluster: Any) -> float:
    """Return the share of a CPU that Redis uses for a computation, as it says itself."""
    redis = redis_at(cluster.servers[0].address, 60.0)

    def used() -> float:
        lines = [line.partition(":") for line in str(redis.execute("INFO", "cpu")).splitlines()]
        return sum(float(seconds) for key, _, seconds in lines if key in ("used_cpu_sys", "used_cpu_user"))

    started, before = time.monotonic(), used()
    redis.execute("EVAL", LOOP, 0, STEPS)
    return (used() - before) / (time.monotonic() - started)


@pytest.mark.slow
@pytest.mark.engine
def test_a_server_is_slow_until_the_block_ends(cluster: Any) -> None:
    with throttle_servers(cluster, "lock:redis-1", ["redis-1"], EDGES, 0.03) as fault:
        during = share_used(cluster)
        cluster.check()
        evidence, healed_during = fault.evidence, fault.healed

    assert during < 0.15
    assert wait_for(lambda: share_used(cluster) > 0.3)
    assert (fault.kind, fault.target) == ("throttle", "lock:redis-1")
    assert "limited to 3% of a CPU" in evidence
    assert not healed_during
    assert "no limit any more" in fault.healed


@pytest.mark.engine
def test_a_server_is_fast_again_when_the_block_is_cut_short(cluster: Any) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        throttle_servers(cluster, "lock:redis-1", ["redis-1"], EDGES, 0.05),
    ):
        raise KeyboardInterrupt

    assert wait_for(lambda: share_used(cluster) > 0.3)


@pytest.mark.engine
@pytest.mark.slow
def test_a_server_that_is_never_held_up_is_not_throttled(cluster: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(throttle, "SETTLING", 0.5)
    monkeypatch.setattr(throttle, "ENOUGH", 10**6)
    with (
        pytest.raises(FaultNotInstalledError, match=r"held up in 0.5 s: redis-1"),
        throttle_servers(cluster, "lock:redis-1", ["redis-1"], EDGES, 0.1),
    ):
        pass


@pytest.mark.engine
def test_a_throttled_server_restarts_after_the_limit_is_gone(cluster: Any) -> None:
    with throttle_servers(cluster, "lock:redis-1", ["redis-1"], EDGES, 0.05):
        pass
    cluster.kill(["redis-1"])
    cluster.restart(["redis-1"])

    assert wait_for(lambda: share_used(cluster) > 0.3)


@pytest.mark.engine
def test_a_kernel_without_quotas_is_refused(docker_engine: Any, monkeypatch: Any) -> None:
    assert docker_engine.refusal(TOPOLOGY) is None

    monkeypatch.setattr(docker.DockerClient, "info", lambda _client: {"CpuCfsQuota": False})

    assert "CONFIG_CFS_BANDWIDTH" in str(docker_engine.refusal(TOPOLOGY))
