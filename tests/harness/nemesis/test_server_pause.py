"""Pauses of real servers: observed stopped, observed running again, with everything they had in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from harness.core.errors import FaultNotInstalledError, InfrastructureError
from harness.engines.engine import Engine
from harness.nemesis.leader import leader_of
from harness.nemesis.pause import PauseSpec, pause_servers
from harness.nemesis.reach import FaultReach
from harness.network.probe import reply
from harness.network.systems import SYSTEMS
from harness.network.topology import NetworkEdge, ServerSpec, Topology
from tests.support.selection import BOTH_ENGINES
from tests.support.systems import redis_at, run_named
from tests.support.waiting import SOON, wait_for
from workloads.client import Unknown

pytestmark = pytest.mark.engine

SILENCE = 0.3  # s; what answers may need longer on a busy machine
BOTH = ["redis-1", "postgres"]
TOPOLOGY = Topology(
    servers=(ServerSpec(name="redis-1", system="redis"), ServerSpec(name="postgres", system="postgres")),
    clients=2,
    partitions=False,
)


@pytest.fixture(scope="module", params=BOTH_ENGINES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = request.getfixturevalue(f"{request.param}_engine")
    with engine.start(
        TOPOLOGY, run_named(f"pause-{request.param}"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def edges(*servers: str) -> set[Any]:
    return {NetworkEdge(client, server) for client in (0, 1) for server in servers}


def answers(cluster: Any, server: str, within: float = SOON) -> list[bool]:
    """Does it answer over each client's edge, and to the harness?"""
    known = {each.name: each for each in cluster.servers}[server]
    ways = [cluster.edge(0, server), cluster.edge(1, server), known.address]
    return [reply(way, known.system, within) is not None for way in ways]


def is_stopped(cluster: Any, server: str) -> bool:
    """Are all its processes stopped, as /proc or Docker shows?"""
    if hasattr(cluster, "client"):
        return bool(cluster.client.containers.get(cluster._container(server).id).status == "paused")
    (child,) = (each for each in cluster.children if each.name == server)
    head = psutil.Process(child.process.pid)
    ended = psutil.STATUS_ZOMBIE  # its parent cannot wait for it now
    return head.status() == psutil.STATUS_STOPPED and all(
        each.status() in (psutil.STATUS_STOPPED, ended) for each in head.children(recursive=True)
    )


def test_a_server_is_stopped_until_the_block_ends(cluster: Any) -> None:
    with pause_servers(cluster, "storage", ["postgres"], edges("postgres")) as fault:
        during = answers(cluster, "postgres", SILENCE)
        seen = [is_stopped(cluster, server) for server in BOTH]
        others = answers(cluster, "redis-1")
        cluster.check()
        evidence, healed_during = fault.evidence, fault.healed

    assert during == [False] * 3
    assert others == [True] * 3
    assert seen == [False, True]
    assert (fault.kind, fault.target) == ("pause", "storage")
    assert "postgres" in evidence
    assert not healed_during
    assert "answered over every edge" in fault.healed
    assert not is_stopped(cluster, "postgres")
    assert answers(cluster, "postgres") == [True] * 3


def test_a_request_to_a_stopped_server_is_carried_out_afterwards(cluster: Any) -> None:
    redis = redis_at(cluster.servers[0].address, SILENCE)
    redis.execute("DEL", "late")
    with pause_servers(cluster, "lock", ["redis-1"], edges("redis-1")), pytest.raises(Unknown):
        redis.execute("SET", "late", "yes")

    assert wait_for(lambda: redis.execute("GET", "late") == "yes")


def test_servers_continue_when_the_block_is_cut_short(cluster: Any) -> None:
    with suppress(KeyboardInterrupt), pause_servers(cluster, "lock", BOTH, edges(*BOTH)):
        during = [answers(cluster, server, SILENCE) for server in BOTH]
        raise KeyboardInterrupt

    assert during == [[False] * 3] * 2
    assert [answers(cluster, server) for server in BOTH] == [[True] * 3] * 2


def test_a_server_that_still_answers_is_not_paused(cluster: Any) -> None:
    class Spared:
        """A cluster that claims to pause, but does not."""

        servers = cluster.servers
        edge = staticmethod(cluster.edge)
        resume = staticmethod(cluster.resume)

        def pause(self, _servers: Any) -> str:
            return "said so"

    with (
        pytest.raises(FaultNotInstalledError, match="redis-1 still answers"),
        pause_servers(Spared(), "lock", ["redis-1"], edges("redis-1")),
    ):
        pass


def test_a_server_that_has_ended_cannot_be_paused(cluster: Any) -> None:
    cluster.kill(["redis-1"])
    try:
        with pytest.raises(InfrastructureError):
            cluster.pause(["redis-1"])
    finally:
        cluster.restart(["redis-1"])

    assert answers(cluster, "redis-1") == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("system", ["etcd", "zookeeper"])
def test_the_leader_is_paused_and_another_member_takes_over(
    docker_engine: Engine, run_id: str, tmp_path: Any, system: str
) -> None:
    names = tuple(f"{system}-{number}" for number in (1, 2, 3))
    topology = Topology(
        servers=tuple(ServerSpec(name=name, system=system) for name in names), clients=1, partitions=False
    )
    fault = PauseSpec.model_validate({"kind": "pause", "target": "lock:leader", "lasts": "10s"})
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        reach = FaultReach(cluster=cluster, sides={"lock": names}, processes=[psutil.Process()])
        old = leader_of(cluster, names)
        others = [name for name in names if name != old]
        with fault.in_force(reach, lambda _span: None) as paused:
            assert paused.target == f"lock:{old}"
            assert wait_for(lambda: leader_of(cluster, others) in others)

        def leaders() -> list[str]:
            leads = SYSTEMS[system].leads
            return [server.name for server in cluster.servers if leads and leads(server.address)]

        assert wait_for(lambda: len(leaders()) == 1)
