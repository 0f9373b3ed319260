"""Servers in containers that use more memory than they may, or that somebody else kills: named as that."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from harness.core.errors import ServerNotReadyError
from harness.engines.docker import DockerCluster, DockerEngine
from harness.engines.docker_containers import containers_of
from harness.engines.engine import Engine
from harness.network.systems import SYSTEMS
from harness.network.topology import Address, ServerSpec, Topology
from tests.support.command import DEADLINE, start
from tests.support.systems import run_named
from tests.support.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LIMIT = 24_000_000  # bytes
NAMED = (
    "redis-1 was killed by the kernel because it used more than its memory limit of 24MB "
    '(raise it with memory = "…" in its section of the target)'
)
PERHAPS = (
    "redis-1 was killed (status 137), perhaps by the kernel because it used more than its memory limit of 24MB "
    '(raise it with memory = "…" in its section of the target), which Docker does not say'
)
TARGET = """
name = "small"
expect = "valid"
[lock]
kind = "redis"
memory = "24MB"
[storage]
kind = "sqlite"
fencing = "conditional-update"
[workload]
duration = "600s"
"""


def fill(at: Address) -> None:
    """Store in Redis until it has ended."""
    connected = closing(redis.Redis(at.host, at.port, socket_timeout=PATIENCE))
    with connected as client, suppress(redis.RedisError):
        for number in range(100):
            client.set(f"filling-{number}", bytes(1_000_000))


def kill(cluster: DockerCluster) -> None:
    """Kill Redis as another program would."""
    redis_1 = containers_of(cluster.client, cluster.run_id)["redis-1"]
    cluster.client.api.kill(redis_1.id)


@pytest.fixture(scope="module", params=["out of memory", "killed by others"])
def ended(
    docker_engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[DockerCluster, tuple[str, ...]]]:
    """A Redis that has ended, and how that may be said: the kernel's report may not reach Docker."""
    spec = ServerSpec(name="redis-1", system="redis", cluster="lock", memory=LIMIT)
    topology = Topology(servers=(spec,), clients=1, partitions=False)
    folder = tmp_path_factory.mktemp("run")
    with docker_engine.start(topology, run_named("memory"), folder, print) as cluster:
        cluster.check()
        if request.param == "killed by others":
            kill(cluster)
            yield cluster, (PERHAPS,)
        else:
            fill(cluster.servers[0].address)
            yield cluster, (NAMED, PERHAPS)


@pytest.mark.parametrize(
    "act",
    [
        lambda cluster: cluster.check(),
        lambda cluster: cluster.kill(["redis-1"]),
        lambda cluster: cluster.pause(["redis-1"]),
        lambda cluster: cluster.resume(["redis-1"]),
    ],
    ids=["check", "kill", "pause", "resume"],
)
def test_a_server_that_used_too_much_memory_is_named(
    ended: tuple[DockerCluster, tuple[str, ...]], act: Callable[[Any], None]
) -> None:
    cluster, said = ended

    with pytest.raises(ServerNotReadyError) as raised:
        act(cluster)

    assert str(raised.value).startswith(said)


def test_a_run_in_which_it_happens_is_a_failure(docker_engine: Engine, client: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TARGET)
    process = start("run", "small.toml", "--engine", docker_engine.name, cwd=tmp_path)
    folder = tmp_path / "runs" / "small" / "latest"
    assert wait_for((folder / "plan.json").exists, 2 * PATIENCE)
    redis_1 = containers_of(client, folder.resolve().name)["redis-1"]
    fill(redis_1.published(SYSTEMS["redis"].port))

    _, said = process.communicate(timeout=DEADLINE)

    assert process.returncode == 3
    assert any(f"infrastructure failure: {words}" in said for words in (NAMED, PERHAPS))
    assert not (folder / "verdict.json").exists()
