"""Systems that only Docker runs: Hazelcast, and PostgreSQL behind PgBouncer."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from harness.engines.engine import Cluster, Engine
from harness.nemesis.partition import partition
from harness.network import hazelcast_server
from harness.network.probe import reply
from harness.network.systems import POSTGRES_LOGIN
from harness.network.topology import Address, ServerSpec, Topology
from tests.support.systems import run_named
from tests.support.waiting import wait_for

SESSION = {"FENCEPOST_HAZELCAST_SESSION": "2"}
NAMES = ("hazelcast-1", "hazelcast-2", "hazelcast-3")


@pytest.fixture(scope="module")
def members(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    servers = tuple(
        ServerSpec(name=name, system="hazelcast", cluster="lock", variables=SESSION) for name in NAMES
    )
    topology = Topology(servers=servers, clients=1, partitions=True)
    with docker_engine.start(
        topology, run_named("hazelcast"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def usable(cluster: Cluster) -> list[bool]:
    return [hazelcast_server.is_usable(server.address) for server in cluster.servers]


@pytest.mark.slow
def test_every_member_says_its_release(members: Cluster) -> None:
    servers = members.environment()["servers"]

    assert [servers[name]["version"] for name in NAMES] == ["5.3.8"] * 3


@pytest.mark.slow
def test_clients_are_told_an_address_at_which_nothing_answers(members: Cluster) -> None:
    with hazelcast_server.logged_in(members.edge(0, "hazelcast-1")) as (_, _, said):
        port, host = said[2:4]

    assert (host, int.from_bytes(port, "little")) == (b"127.0.0.1", 1)


@pytest.mark.slow
def test_a_partition_cuts_the_edge_of_a_client(members: Cluster) -> None:
    with partition(members, 0, NAMES):
        during = [reply(members.edge(0, name), "hazelcast", within=0.3) for name in NAMES]
        meanwhile = usable(members)

    assert (during, meanwhile) == ([None] * 3, [True] * 3)
    assert None not in [reply(members.edge(0, name), "hazelcast", within=2) for name in NAMES]


@pytest.mark.slow
def test_the_other_members_go_on_without_one_that_was_killed(members: Cluster) -> None:
    members.kill(["hazelcast-2"])
    assert wait_for(lambda: usable(members) == [True, False, True])

    members.restart(["hazelcast-2"])

    assert usable(members) == [True] * 3


@pytest.mark.slow
def test_all_members_start_again_without_data_after_a_kill(members: Cluster) -> None:
    members.kill(NAMES)
    assert usable(members) == [False] * 3

    members.restart(NAMES)

    assert usable(members) == [True] * 3


POOLED = ServerSpec(name="pgbouncer-1", system="pgbouncer", image="fencepost/postgres", cluster="lock")


def test_two_clients_hold_one_lock_of_a_session(docker_engine: Engine, run_id: str, tmp_path: Path) -> None:
    topology = Topology(servers=(POOLED,), clients=2, partitions=True)
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        with ExitStack() as stack:
            servers = (cluster.edge(client, "pgbouncer-1") for client in (0, 1))
            held = [granted(at, stack) for at in servers]
        version = cluster.environment()["servers"]["pgbouncer-1"]["version"]
        for _ in range(3):  # its lock file may have the number of another process of the next start
            cluster.kill(["pgbouncer-1"])
            cluster.restart(["pgbouncer-1"])

    assert held == [True, True]
    assert re.match(r"PgBouncer 1\.\d+\.\d+ before PostgreSQL 17", version)


def granted(at: Address, stack: ExitStack) -> bool:
    """Take the lock on a new connection, which stays open."""
    login = f"host={at.host} port={at.port} {POSTGRES_LOGIN}"
    client = stack.enter_context(psycopg.connect(login, autocommit=True))
    return client.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
