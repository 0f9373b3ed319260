"""Kills and pauses of real servers: observed in force, and observed usable again with their data."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import psutil
import pytest

from harness.core.errors import FaultNotInstalledError, InfrastructureError, ServerNotReadyError
from harness.engines.engine import Engine
from harness.nemesis.kill import KillSpec, kill, kill_client
from harness.nemesis.leader import leader_of
from harness.nemesis.pause import PauseSpec, pause_servers
from harness.nemesis.reach import FaultReach
from harness.network.probe import reply
from harness.network.systems import SYSTEMS
from harness.network.topology import NetworkEdge, ServerSpec, Topology
from harness.processes.process_tree import end
from tests.support.selection import BOTH_ENGINES
from tests.support.systems import redis_at, run_named
from tests.support.waiting import SOON, wait_for
from workloads.client import Unknown
from workloads.redis_connection import RedisConnection

pytestmark = pytest.mark.engine

BOTH = ["redis-1", "postgres"]
TOPOLOGY = Topology(
    servers=(ServerSpec(name="redis-1", system="redis"), ServerSpec(name="postgres", system="postgres")),
    clients=2,
    partitions=False,
    killed=tuple(BOTH),
)


@pytest.fixture(scope="module", params=BOTH_ENGINES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = request.getfixturevalue(f"{request.param}_engine")
    with engine.start(
        TOPOLOGY, run_named(f"stop-{request.param}"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def edges(*servers: Any) -> Any:
    return {NetworkEdge(client, server) for client in (0, 1) for server in servers}


def answers(cluster: Any, server: str, within: float = SOON) -> list[bool]:
    """Does it answer over each client's edge, and to the harness?"""
    known = {each.name: each for each in cluster.servers}[server]
    ways = [cluster.edge(0, server), cluster.edge(1, server), known.address]
    return [reply(way, known.system, within) is not None for way in ways]


def redis(cluster: Any) -> RedisConnection:
    return redis_at(cluster.servers[0].address)


def test_a_server_is_down_until_the_block_ends_and_then_usable(cluster: Any) -> None:
    with kill(cluster, "storage", ["postgres"], edges("postgres")) as fault:
        during = answers(cluster, "postgres")
        others = answers(cluster, "redis-1")
        cluster.check()  # which passes over killed servers
        evidence, healed_during = fault.evidence, fault.healed

    assert during == [False] * 3
    assert others == [True] * 3
    assert (fault.kind, fault.target) == ("kill", "storage")
    assert "postgres" in evidence
    assert "SIGKILL" in evidence
    assert not healed_during
    assert "usable again" in fault.healed
    assert answers(cluster, "postgres") == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("server", BOTH)
def test_a_server_may_stop_in_an_orderly_way(cluster: Any, server: str) -> None:
    with kill(cluster, "storage", [server], edges(server), orderly=True) as fault:
        during = answers(cluster, server)
        evidence = fault.evidence

    assert during == [False] * 3
    assert "SIGKILL" not in evidence
    assert wait_for(lambda: has_ended_by_itself(cluster, server))
    assert answers(cluster, server) == [True] * 3


def has_ended_by_itself(cluster: Any, server: str) -> bool:
    """Does its log say so?"""
    words = {"redis-1": "Redis is now ready to exit", "postgres": "database system is shut down"}
    return words[server] in cluster.logs()[server]


@pytest.mark.slow
def test_acknowledged_writes_survive_a_kill(cluster: Any) -> None:
    redis(cluster).execute("SET", "kept", "yes")

    with kill(cluster, "lock:redis-1", ["redis-1"], edges("redis-1")):
        pass

    assert redis(cluster).execute("GET", "kept") == "yes"


def test_a_server_is_restarted_when_the_block_is_cut_short(cluster: Any) -> None:
    with pytest.raises(KeyboardInterrupt), kill(cluster, "lock", ["redis-1"], edges("redis-1")):
        raise KeyboardInterrupt

    assert answers(cluster, "redis-1") == [True] * 3
    cluster.check()


def test_a_kill_of_a_server_that_still_answers_is_not_in_force(cluster: Any) -> None:
    class Spared:
        """A cluster that claims to kill, but does not."""

        servers = cluster.servers
        edge = staticmethod(cluster.edge)
        restart = staticmethod(cluster.restart)

        def kill(self, _servers: Any, *, orderly: bool) -> str:  # noqa: ARG002 - as in the protocol
            return "said so"

    with (
        pytest.raises(FaultNotInstalledError, match="redis-1 still answers"),
        kill(Spared(), "lock", ["redis-1"], edges("redis-1")),
    ):
        pass

    assert answers(cluster, "redis-1") == [True] * 3


def test_a_server_that_ends_on_its_own_is_still_an_error(cluster: Any) -> None:
    with kill(cluster, "storage", ["postgres"], edges("postgres")):
        cluster.down.discard("postgres")
        with pytest.raises(ServerNotReadyError, match=r"postgres (ended with SIGKILL|was killed)"):
            cluster.check()


@pytest.fixture
def client() -> Iterator[psutil.Process]:
    """A client's process, with a program that it started."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"]) as process:
        head = psutil.Process(process.pid)
        assert wait_for(head.children)
        yield head
        end(head)


@pytest.mark.parametrize("stops_itself", [False, True])
def test_a_client_is_killed_with_its_program_for_good(client: psutil.Process, stops_itself: bool) -> None:
    everybody = [client, *client.children()]
    if stops_itself:
        client.suspend()
    reach = FaultReach(cluster=cast("Any", None), sides={}, processes=[client])

    with kill_client(reach, 0) as fault:
        ended = [not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in everybody]

    assert ended == [True, True]
    assert reach.ended_by_faults == {0}
    assert str(client.pid) in fault.evidence
    assert not fault.ends


def test_servers_of_a_list_are_killed_at_the_same_time(cluster: Any) -> None:
    fault = KillSpec.model_validate({"kind": "kill", "target": ("redis-1", "postgres"), "lasts": "1s"})
    reach = FaultReach(cluster=cluster, sides={"lock": ("redis-1", "postgres")}, processes=[psutil.Process()])

    with fault.in_force(reach, lambda _span: None) as killed:
        during = [answers(cluster, server) for server in BOTH]

    assert during == [[False] * 3] * 2
    assert killed.target == "lock:redis-1, postgres"
    assert "redis-1" in killed.evidence
    assert "postgres" in killed.evidence
    assert [answers(cluster, server) for server in BOTH] == [[True] * 3] * 2


@pytest.mark.slow
def test_without_two_of_three_members_none_leads(docker_engine: Engine, run_id: str, tmp_path: Any) -> None:
    names = ("etcd-1", "etcd-2", "etcd-3")
    topology = Topology(
        servers=tuple(ServerSpec(name=name, system="etcd") for name in names),
        clients=1,
        partitions=False,
        killed=names[:2],
    )
    fault = KillSpec.model_validate({"kind": "kill", "target": names[:2], "lasts": "1s"})
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        reach = FaultReach(cluster=cluster, sides={"lock": names}, processes=[psutil.Process()])
        with fault.in_force(reach, lambda _span: None) as killed:
            states = {
                each.attrs["Config"]["Labels"]["com.docker.compose.service"]: each.status
                for each in cast("Any", cluster).client.containers.list(
                    all=True, filters={"label": f"fencepost={run_id}"}
                )
            }
            leads = SYSTEMS["etcd"].leads
            assert leads is not None
            assert wait_for(lambda: not leads(cluster.servers[2].address))

        assert [states[name] for name in names] == ["exited", "exited", "running"]
        assert killed.target == "lock:etcd-1, etcd-2"
        assert wait_for(lambda: leader_of(cluster, names) in names)


SILENCE = 0.3  # s; what answers may need longer on a busy machine


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


@pytest.mark.slow
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


@pytest.mark.slow
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
