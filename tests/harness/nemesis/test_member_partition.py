"""Partitions between members of real clusters: seen from the members, their networks and their clients."""

import json
import threading
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

import psutil
import pytest

from harness.engines.engine import Engine
from harness.nemesis.leader import leader_of
from harness.nemesis.partition import PartitionSpec, partition_members, sides_of
from harness.nemesis.reach import FaultReach
from harness.network.probe import replies, reply
from harness.network.systems import SYSTEMS
from harness.network.topology import REPLICA, NetworkEdge, ServerSpec, Topology
from tests.support.missing import need
from tests.support.selection import BOTH_ENGINES, nightly
from tests.support.systems import redis_at, run_named
from tests.support.waiting import SOON, wait_for
from workloads.client import Unknown
from workloads.etcd_api import Connection

pytestmark = pytest.mark.engine

ASK = 'exec 3<>"/dev/tcp/$0/$1" || exit 124; printf "$2" >&3; timeout 2 head -c 8 <&3'
"""A request of a member to another one, from inside its own container; 124 if it is not answered in time."""
REQUESTS = {"etcd": (2380, "GET /version HTTP/1.0\\r\\n\\r\\n"), "zookeeper": (3888, "\\xff" * 8)}


def topology(system: str, nodes: int, clients: int = 2) -> Topology:
    names = [f"{system}-{number}" for number in range(1, nodes + 1)]
    specs = tuple(ServerSpec(name=name, system=system, cluster="lock") for name in names)
    return Topology(servers=specs, clients=clients, partitions=True, split=(names[0],))


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with docker_engine.start(
        topology("etcd", 3), run_named("members"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ensemble(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with docker_engine.start(
        topology("zookeeper", 3), run_named("ensemble"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def names_of(cluster: Any) -> tuple[str, ...]:
    return tuple(server.name for server in cluster.servers)


def reach_of(cluster: Any) -> FaultReach:
    return FaultReach(cluster=cluster, sides={"lock": names_of(cluster)}, processes=[psutil.Process()] * 2)


def reaches(cluster: Any, source: str, server: str) -> bool:
    """Does a member get an answer from another one, at the name and port that it knows it by?"""
    port, request = REQUESTS[server[:-2]]
    container = cluster.client.containers.get(cluster._container(source).id)
    done = container.exec_run(["bash", "-c", ASK, server, str(10 * port + int(server[-1])), request])
    closes = server.startswith("zookeeper")  # that is its answer
    return done.exit_code != 124 and (closes or bool(done.output))


def ways(cluster: Any, expected: AbstractSet[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return which member reaches which.

    Those that are expected to are asked first, as a silent connection makes others wait; and until
    they answer, as that may take long on a busy machine.
    """
    found: set[tuple[str, str]] = set()

    def all_answer() -> bool:
        found.update(answering(cluster, expected - found))
        return found == expected

    wait_for(all_answer)
    return found | answering(cluster, set(permutations(names_of(cluster), 2)) - expected)


def answering(cluster: Any, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    with ThreadPoolExecutor(len(pairs) or 1) as pool:
        answered = list(pool.map(lambda pair: reaches(cluster, *pair), pairs))
    return {pair for pair, answers in zip(pairs, answered, strict=True) if answers}


def between(first: Sequence[str], second: Sequence[str]) -> set[tuple[str, str]]:
    return {pair for one in first for other in second for pair in ((one, other), (other, one))}


def leads(cluster: Any, name: str) -> bool:
    member = next(server for server in cluster.servers if server.name == name)
    leading = SYSTEMS[member.system].leads
    return leading is not None and leading(member.address)


def leaders(cluster: Any) -> set[str]:
    return {name for name in names_of(cluster) if leads(cluster, name)}


def connection(cluster: Any, name: str, timeout: float = 1.0) -> Connection:
    address = next(server.address for server in cluster.servers if server.name == name)
    return Connection([str(address)], timeout)


@pytest.mark.slow
def test_an_isolated_leader_steps_down_and_its_late_put_never_lands(cluster: Any) -> None:
    names = names_of(cluster)
    old = leader_of(cluster, names)
    others = tuple(name for name in names if name != old)
    late = connection(cluster, old, timeout=30)
    with partition_members(cluster, f"lock:{old}", sides_of("isolated", old, names)) as fault:
        outcome: list[BaseException] = []
        put = threading.Thread(target=put_late, args=(late, outcome))
        put.start()
        stepped_down = wait_for(lambda: not leads(cluster, old))
        new = wait_for(lambda: [name for name in others if leads(cluster, name)])
        connection(cluster, new[0]).call("KV/Put", key=b"late", value=b"newer")
    put.join()

    assert stepped_down
    assert new
    assert isinstance(outcome[0], Unknown)
    assert f"cut {old} from {', '.join(others)} (both; links: 4, edges of clients: 0)" in fault.evidence
    assert f"{old} leads" in fault.evidence
    assert f"{old} does not serve" in fault.healed
    for name in names:
        found = connection(cluster, name).call("KV/Range", key=b"late").kvs
        assert [(each.value, each.version) for each in found] == [(b"newer", 1)]


def put_late(connection: Connection, outcome: list[BaseException]) -> None:
    try:
        connection.call("KV/Put", key=b"late", value=b"stale")
    except Unknown as error:
        outcome.append(error)


@pytest.mark.slow
def test_a_member_reaches_no_other_until_the_block_ends(cluster: Any) -> None:
    names = names_of(cluster)
    everything = between(names, names) - {(name, name) for name in names}
    whole = everything - between(["etcd-2"], names)
    before = ways(cluster, everything)
    with partition_members(cluster, "lock:etcd-2", sides_of("isolated", "etcd-2", names)):
        during = ways(cluster, whole)
        clients = [reply(cluster.edge(0, name), "etcd", SOON) is not None for name in names]
    after = ways(cluster, everything)

    assert before == after == everything
    assert during == whole
    assert clients == [True] * 3


@pytest.mark.slow
def test_members_have_no_way_to_each_other_but_their_proxies(cluster: Any) -> None:
    networks = {
        name: json.loads(json.dumps(container.attrs["NetworkSettings"]["Networks"]))
        for name in names_of(cluster)
        if (container := cluster.client.containers.get(cluster._container(name).id))
    }

    assert all(len(each) == 1 for each in networks.values())
    assert len({next(iter(each)) for each in networks.values()}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["outgoing", *nightly("incoming")])
def test_a_partition_in_one_direction_silences_requests_both_ways(cluster: Any, direction: Any) -> None:
    names = names_of(cluster)
    with partition_members(cluster, "lock:etcd-3", sides_of("isolated", "etcd-3", names), direction):
        lost = {
            str(link): next(iter(cluster.toxiproxy.state(link).cut))
            for link in cluster.links
            if "etcd-3" in (link.source, link.server)
        }
        during = ways(cluster, between(["etcd-1"], ["etcd-2"]))

    assert during == between(["etcd-1"], ["etcd-2"])
    of_target = {stream for link, stream in lost.items() if link.startswith("etcd-3")}
    of_others = {stream for link, stream in lost.items() if not link.startswith("etcd-3")}
    expected = ({"upstream"}, {"downstream"}) if direction == "outgoing" else ({"downstream"}, {"upstream"})
    assert (of_target, of_others) == expected


@pytest.mark.slow
def test_a_client_may_be_cut_off_with_the_leader(cluster: Any) -> None:
    fault = PartitionSpec.model_validate(
        {"kind": "partition", "target": "lock:leader", "with": "client:1", "every": "9s", "lasts": "8s"}
    )
    reach = reach_of(cluster)
    old = leader_of(cluster, names_of(cluster))
    with fault.in_force(reach, lambda _span: None) as seen:
        edges = reach.edges(names_of(cluster))
        at = {edge: (cluster.edge(edge.client, edge.server), "etcd") for edge in edges}
        reached = {edge for edge, seconds in replies(at, SOON).items() if seconds is not None}

    others = {name for name in names_of(cluster) if name != old}
    assert reached == {NetworkEdge(1, old)} | {NetworkEdge(0, name) for name in others}
    assert seen.target == f"lock:{old}"
    assert fault.needs(reach) == {*names_of(cluster), *reach.edges(names_of(cluster))}


@pytest.mark.slow
def test_members_are_joined_again_when_the_block_is_cut_short(cluster: Any) -> None:
    names = names_of(cluster)
    with (
        pytest.raises(KeyboardInterrupt),
        partition_members(cluster, "lock:etcd-1", sides_of("isolated", "etcd-1", names)),
    ):
        raise KeyboardInterrupt

    everything = set(permutations(names, 2))
    assert ways(cluster, everything) == everything


@pytest.mark.slow
def test_halves_leave_the_target_in_the_minority() -> None:
    five = tuple(f"etcd-{number}" for number in range(1, 6))

    halves = sides_of("halves", "etcd-4", five)
    bridge = sides_of("bridge", "etcd-4", five)

    assert (halves.near, halves.far) == (("etcd-4", "etcd-1"), ("etcd-2", "etcd-3", "etcd-5"))
    assert (bridge.near, bridge.far) == (("etcd-1", "etcd-2"), ("etcd-3", "etcd-5"))


@pytest.mark.nightly
def test_an_isolated_leader_of_zookeeper_steps_down(ensemble: Any) -> None:
    names = names_of(ensemble)
    old = leader_of(ensemble, names)
    others = set(names) - {old}
    with partition_members(ensemble, f"lock:{old}", sides_of("isolated", old, names)) as fault:
        whole = between(others, others) - {(name, name) for name in others}
        during = ways(ensemble, whole)
        stepped_down = wait_for(lambda: not leads(ensemble, old))
        new = wait_for(lambda: leaders(ensemble) & others)

    assert during == whole
    assert stepped_down
    assert new
    assert f"{old} does not serve" in fault.healed
    everything = set(permutations(names, 2))
    assert ways(ensemble, everything) == everything


@pytest.mark.nightly
def test_five_members_are_halved_or_bridged(docker_engine: Engine, run_id: str, tmp_path: Any) -> None:
    with docker_engine.start(topology("etcd", 5), run_id, tmp_path, print) as cluster:
        names = names_of(cluster)
        everything = between(names, names) - {(name, name) for name in names}
        for shape in ("halves", "bridge"):
            leader = leader_of(cluster, names)
            sides = sides_of(shape, leader, names)
            with partition_members(cluster, f"lock:{leader}", sides):
                cut = between(sides.near, sides.far)
                during = ways(cluster, everything - cut)
                led_by = {leader} if shape == "bridge" else set(sides.far)  # they reach most others
                led = wait_for(lambda: leaders(cluster) & led_by)  # noqa: B023 - called at once

            assert during == everything - cut, shape
            assert led, shape
        assert ways(cluster, everything) == everything


@pytest.mark.nightly
@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
def test_a_leader_of_zookeeper_cut_off_in_one_direction_steps_down(ensemble: Any, direction: Any) -> None:
    names = names_of(ensemble)
    old = leader_of(ensemble, names)
    with partition_members(ensemble, f"lock:{old}", sides_of("isolated", old, names), direction) as fault:
        stepped_down = wait_for(lambda: not leads(ensemble, old))

    assert stepped_down
    assert f"({direction}; links: 8" in fault.evidence


@pytest.mark.slow
@pytest.mark.parametrize("engine", BOTH_ENGINES)
def test_a_replica_that_is_cut_off_gets_nothing_until_the_block_ends(
    request: pytest.FixtureRequest, run_id: str, tmp_path: Any, engine: str
) -> None:
    specs = (
        ServerSpec(name="redis-1", system="redis", cluster="lock"),
        ServerSpec(name=REPLICA, system="redis", cluster="lock", follows="redis-1"),
    )
    both = Topology(servers=specs, clients=1, partitions=True, split=(REPLICA,))
    engine_of_test = request.getfixturevalue(f"{engine}_engine")
    need(engine_of_test, both)
    with engine_of_test.start(both, run_id, tmp_path, print) as cluster:
        primary, replica = (redis_at(server.address) for server in cluster.servers)
        sides = sides_of("isolated", REPLICA, names_of(cluster))
        primary.execute("SET", "before", "yes")
        got_before = wait_for(lambda: replica.execute("GET", "before") == "yes")
        with partition_members(cluster, f"lock:{REPLICA}", sides) as fault:
            primary.execute("SET", "late", "yes")
            confirmed = primary.execute("WAIT", 1, 500)
            during = replica.execute("GET", "late")
        got_late = wait_for(lambda: replica.execute("GET", "late") == "yes")

    assert got_before
    assert (confirmed, during) == (0, None)
    assert "links: 1" in fault.evidence
    assert got_late
