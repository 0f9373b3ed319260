"""The register on three real nodes of Galera: its order of writes, conflicts, and nodes that are away."""

from __future__ import annotations

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import psutil
import pytest

from harness.engines.engine import Cluster, Engine
from harness.nemesis.kill import kill
from harness.nemesis.partition import partition_members, sides_of
from harness.nemesis.reach import FaultReach
from harness.network import mariadb_server
from harness.network.topology import ServerSpec, Topology
from tests.support import systems
from tests.support.missing import need
from tests.support.systems import names, nothing
from tests.support.waiting import PATIENCE, wait_for
from workloads.client import NotApplied, Stale, Unknown
from workloads.mariadb_connection import MariadbConnection
from workloads.settings import GaleraSettings
from workloads.storages import mariadb

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

NODES = ("galera-1", "galera-2", "galera-3")
WRITES = 40  # of each client
SLEEPING = "SELECT 1 FROM information_schema.processlist WHERE state = 'User sleep'"
Open = Callable[..., mariadb.MariadbStorage]


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes which a fault may cut off from each other."""
    specs = tuple(ServerSpec(name=name, system="mariadb", cluster="storage") for name in NODES)
    topology = Topology(servers=specs, clients=1, partitions=True, split=NODES[:1])
    need(docker_engine, topology)
    with docker_engine.start(
        topology, systems.run_named("galera"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def settings(cluster: Cluster) -> GaleraSettings:
    found = GaleraSettings(
        kind="mariadb",
        endpoints=tuple(str(server.address) for server in cluster.servers),
        login=cluster.servers[0].address.login,
        timeout=PATIENCE,
        fencing="none",
        policy="strict",
    )
    mariadb.set_up(found, [])
    return found


@pytest.fixture
def connect(settings: GaleraSettings) -> Iterator[Callable[[], list[MariadbConnection]]]:
    """A function that makes a connection to each node, which the test closes at its end."""
    with ExitStack() as stack:
        yield lambda: [stack.enter_context(closing(each)) for each in mariadb.make_connections(settings)]


@pytest.fixture
def resource(settings: GaleraSettings) -> str:
    name = next(names)
    added = {"resource": name, "token": -1}
    with closing(mariadb.make_connections(settings)[0]) as first:
        first.execute("INSERT INTO register VALUES (%(resource)s, NULL, %(token)s, -1)", added)
    for other in mariadb.make_connections(settings, "wsrep_sync_wait = 7"):
        with closing(other):
            assert other.execute("SELECT 1 FROM register WHERE resource = %(resource)s", added)
    return name


@pytest.fixture
def open_storage(settings: GaleraSettings) -> Iterator[Open]:
    opened = []

    def open_one(fencing: str, first: int = 0, **changed: Any) -> mariadb.MariadbStorage:
        """A client that uses one node first."""
        endpoints = (*settings.endpoints[first:], *settings.endpoints[:first])
        own = replace(settings, fencing=fencing, endpoints=endpoints, **changed)
        opened.append(mariadb.connect(own))
        return opened[-1]

    yield open_one
    for storage in opened:
        storage.reconnect()


def commits_of(settings: GaleraSettings, resource: str) -> list[tuple[int, int | None, object]]:
    found = [each for each in mariadb.committed(settings) if each.resource == resource]
    return [(each.seq, each.token, each.value) for each in found]


@pytest.mark.parametrize("fencing", ["none", "conditional-update", "select-for-update", "upsert"])
def test_racing_writes_on_all_nodes_are_logged_in_the_order_of_the_row(
    settings: GaleraSettings, resource: str, open_storage: Open, fencing: str
) -> None:
    tokens, ended = itertools.count(1), defaultdict[str, list[tuple[int, int, int]]](list)

    def work(client: int) -> None:
        storage = open_storage(fencing, first=client % len(NODES), round_robin=client > 2)
        for _ in range(WRITES):
            token, called = next(tokens), time.monotonic_ns()
            try:
                storage.write(resource, token, f"{token}", nothing)
                outcome = "ok"
            except NotApplied as error:
                outcome = "stale" if isinstance(error, Stale) else "fail"
            ended[outcome].append((token, called, time.monotonic_ns()))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))

    logged = commits_of(settings, resource)
    order = [token for _, token, _ in logged if token is not None]
    assert [seq for seq, _, _ in logged] == [*range(1, len(logged) + 1)]
    assert sorted(order) == sorted(token for token, _, _ in ended["ok"])
    assert [value for _, _, value in logged] == [f"{token}" for token in order]
    assert ended["fail"], "no write lost against one on another node"
    if fencing != "none":
        assert order == sorted(order)
    place = {token: at for at, token in enumerate(order)}
    for (first, _, returned), (second, called, _) in itertools.permutations(ended["ok"], 2):
        assert called < returned or place[first] < place[second]


def test_a_write_that_loses_against_another_node_is_not_applied(
    settings: GaleraSettings, resource: str, open_storage: Open, connect: Any
) -> None:
    loser = connect()[1]
    loser.execute("BEGIN")
    loser.execute("UPDATE register SET value = 'lost' WHERE resource = %(name)s", {"name": resource})

    open_storage("conditional-update").write(resource, 1, "won", nothing)

    with pytest.raises(NotApplied, match=r"\(1213\)"):
        loser.execute("COMMIT")
    assert commits_of(settings, resource) == [(1, 1, "won")]


def test_a_statement_that_a_node_repeats_compares_the_mark_again(
    resource: str, open_storage: Open, connect: Any
) -> None:
    node, watching = connect()[1], connect()[1]
    guarded = "UPDATE register SET value = IF(SLEEP(1), '', 'late') WHERE resource = %(name)s AND mark < 3"
    late = threading.Thread(target=lambda: node.execute(guarded, {"name": resource}))
    late.start()
    assert wait_for(lambda: watching.execute(SLEEPING))

    open_storage("conditional-update").write(resource, 5, "newer", nothing)
    late.join(PATIENCE)

    assert node.matched == 0  # repeated, and refused: without a repetition it fails with error 1213
    assert open_storage("none", first=1, sync_wait=7).read(resource) == ("newer", 5)


def test_with_sync_wait_each_node_returns_what_another_accepted(resource: str, open_storage: Open) -> None:
    storage = open_storage("conditional-update", round_robin=True, sync_wait=7)

    for token in range(1, 2 * WRITES):
        storage.write(resource, token, f"{token}", nothing)
        assert storage.read(resource) == (f"{token}", token)


def test_with_round_robin_each_call_goes_to_the_next_node(resource: str, open_storage: Open) -> None:
    storage = open_storage("none", round_robin=True)

    used = []
    for _ in range(4):
        storage.read(resource)
        used.append(storage._nodes[0])

    assert used[:3] != used[1:]
    assert len(set(map(id, used))) == len(NODES)
    assert used[3] is used[0]


@pytest.mark.nightly
def test_a_node_that_is_cut_off_refuses_and_writes_nothing(
    cluster: Cluster, settings: GaleraSettings, resource: str, open_storage: Open
) -> None:
    inside, outside = open_storage("none", timeout=2), open_storage("none", first=1)
    outcomes: list[Exception] = []

    def is_refused() -> bool:
        """Write where no other node is, until the node knows that."""
        try:
            inside.write(resource, 1, f"cut off {len(outcomes)}", nothing)
        except (NotApplied, Unknown) as error:
            outcomes.append(error)
            if isinstance(error, Unknown):
                inside._nodes[0].close()
        return "(1047)" in str(outcomes[-1])

    with partition_members(cluster, NODES[0], sides_of("isolated", NODES[0], NODES)) as fault:
        assert wait_for(is_refused)
        assert type(outcomes[-1]) is NotApplied
        assert wait_for(lambda: writes(outside, resource, "majority"))

    assert "galera-1 does not serve, galera-2 serves, galera-3 serves" in fault.healed
    values = [value for _, _, value in commits_of(settings, resource)]
    assert values[-1] == "majority"
    refused = {f"cut off {at}" for at, error in enumerate(outcomes) if isinstance(error, NotApplied)}
    assert refused.isdisjoint(values)


def writes(storage: mariadb.MariadbStorage, resource: str, value: str) -> bool:
    """Write, unless the nodes that are left have not agreed yet that they are the cluster."""
    try:
        storage.write(resource, 2, value, nothing)
    except NotApplied:
        return False
    return True


@pytest.mark.nightly
def test_nodes_that_were_all_killed_find_each_other_and_what_they_accepted(
    cluster: Cluster, settings: GaleraSettings, resource: str, open_storage: Open
) -> None:
    storage = open_storage("none", round_robin=True, sync_wait=7)
    for token in range(WRITES):
        storage.write(resource, token, f"{token}", nothing)
    reach = FaultReach(cluster=cluster, sides={"storage": NODES}, processes=[psutil.Process()])

    with kill(cluster, "storage", NODES, reach.edges(NODES)) as fault:
        pass

    assert "galera-1, galera-2, galera-3 usable again" in fault.healed
    assert [token for _, token, _ in commits_of(settings, resource)] == [*range(WRITES)]
    for server in cluster.servers:
        assert mariadb_server.is_usable(server.address)
