"""Members of Hazelcast on Docker, the only engine that runs them."""

from collections.abc import Iterator

import pytest

from harness.engines.engine import Cluster, Engine
from harness.nemesis.partition import partition
from harness.network import hazelcast_server
from harness.network.probe import reply
from harness.network.topology import ServerSpec, Topology
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


@pytest.mark.nightly
def test_every_member_says_its_release(members: Cluster) -> None:
    servers = members.environment()["servers"]

    assert [servers[name]["version"] for name in NAMES] == ["5.3.8"] * 3


@pytest.mark.nightly
def test_clients_are_told_an_address_at_which_nothing_answers(members: Cluster) -> None:
    with hazelcast_server.logged_in(members.edge(0, "hazelcast-1")) as (_, _, said):
        port, host = said[2:4]

    assert (host, int.from_bytes(port, "little")) == (b"127.0.0.1", 1)


@pytest.mark.nightly
def test_a_partition_cuts_the_edge_of_a_client(members: Cluster) -> None:
    with partition(members, 0, NAMES):
        during = [reply(members.edge(0, name), "hazelcast", within=0.3) for name in NAMES]
        meanwhile = usable(members)

    assert (during, meanwhile) == ([None] * 3, [True] * 3)
    assert None not in [reply(members.edge(0, name), "hazelcast", within=2) for name in NAMES]


@pytest.mark.nightly
def test_the_other_members_go_on_without_one_that_was_killed(members: Cluster) -> None:
    members.kill(["hazelcast-2"])
    assert wait_for(lambda: usable(members) == [True, False, True])

    members.restart(["hazelcast-2"])

    assert usable(members) == [True] * 3


@pytest.mark.nightly
def test_all_members_start_again_without_data_after_a_kill(members: Cluster) -> None:
    members.kill(NAMES)
    assert usable(members) == [False] * 3

    members.restart(NAMES)

    assert usable(members) == [True] * 3
