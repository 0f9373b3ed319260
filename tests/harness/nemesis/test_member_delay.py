"""Delays between members, also of real clusters, and the proof of silence over an edge."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Engine
from harness.nemesis.delay import MemberDelay, delay, delay_members, steps
from harness.nemesis.edge_probes import ANSWER_TIMEOUT, Probes, silence_after
from harness.nemesis.failover import redis_failover
from harness.nemesis.leader import leader_of
from harness.nemesis.partition import partition
from harness.nemesis.postgres_failover import postgres_failover
from harness.nemesis.slow import slow
from harness.network.members import MEMBERS, keeps_silence, members_of
from harness.network.topology import Address, Link, ServerSpec, Topology
from tests.support.systems import run_named
from workloads.etcd_api import Connection

HALF_A_SECOND = NS["s"] // 2
OVER = 10 * NS["s"]


def in_words(late: MemberDelay) -> list[str]:
    return [f"{sides}: {direction}" for sides, direction in steps("a", ("b", "c"), late)]


def test_all_links_get_late_at_once() -> None:
    assert in_words(MemberDelay(by=1)) == ["a from b, c: both"]
    assert in_words(MemberDelay(by=1, direction="outgoing")) == ["a from b, c: outgoing"]


def test_one_after_another_a_member_hears_late_before_it_is_heard_late() -> None:
    assert in_words(MemberDelay(by=1, over=OVER)) == [
        "a from b: incoming",
        "a from c: incoming",
        "a from b, c: outgoing",
    ]
    assert in_words(MemberDelay(by=1, over=OVER, direction="incoming")) == [
        "a from b: incoming",
        "a from c: incoming",
    ]


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    names = ("etcd-1", "etcd-2", "etcd-3")
    specs = tuple(ServerSpec(name=name, system="etcd", cluster="lock") for name in names)
    topology = Topology(servers=specs, clients=1, partitions=True, split=names[:1])
    with docker_engine.start(topology, run_named("late"), tmp_path_factory.mktemp("run"), print) as cluster:
        yield cluster


def put(cluster: Any, member: str) -> float:
    """Return how long a write through a member takes (s)."""
    address = next(server.address for server in cluster.servers if server.name == member)
    began = time.monotonic()
    Connection([str(address)], 10).call("KV/Put", key=b"key", value=b"value")
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.engine
def test_a_leader_that_hears_late_commits_late_and_loses_nothing(cluster: Any) -> None:
    names = [server.name for server in cluster.servers]
    leader = leader_of(cluster, names)
    others = [name for name in names if name != leader]
    late = MemberDelay(by=HALF_A_SECOND, direction="incoming")
    with delay_members(cluster, f"lock:{leader}", leader, others, late, lambda _: None) as fault:
        taken = put(cluster, leader)
    after = min(put(cluster, leader) for _ in range(3))

    assert taken >= 0.5 > after
    assert (
        f"messages between {leader} and {', '.join(others)} are 500ms late (incoming; links: 4)"
        in fault.evidence
    )
    assert "latency 500 ms toxic" in fault.evidence
    assert "now Toxiproxy shows no toxic" in fault.healed


@pytest.mark.engine
def test_links_get_late_one_after_another(cluster: Any) -> None:
    waits: list[float] = []
    late = MemberDelay(by=HALF_A_SECOND, over=OVER)
    with delay_members(
        cluster, "lock:etcd-1", "etcd-1", ["etcd-2", "etcd-3"], late, lambda span: waits.append(span.ns)
    ) as fault:
        shown = [
            cluster.toxiproxy.state(link) for link in cluster.links if "etcd-1" in (link.source, link.server)
        ]

    assert waits[0] == 0
    assert 0 < waits[1] < OVER // 2 < waits[2] < OVER
    assert {state.late for state in shown} == {frozenset({"upstream", "downstream"})}
    assert {(state.least, state.spread) for state in shown} == {(500, 500)}
    assert "(both; links: 4, one after another over 10s)" in fault.evidence


@pytest.mark.slow
@pytest.mark.engine
def test_a_delay_between_members_without_links_is_not_in_force(local_cluster: Any) -> None:
    with (
        pytest.raises(FaultNotInstalledError, match="there are no proxies between etcd-1 from etcd-2"),
        delay_members(local_cluster, "lock:etcd-1", "etcd-1", ["etcd-2"], MemberDelay(by=1), lambda _: None),
    ):
        pass


ZOOKEEPER = members_of("zookeeper")
LINK = Link("zookeeper-1", "zookeeper-2")


@pytest.fixture
def silent_member() -> Iterator[Address]:
    """A member that hears nothing, so that it hangs up in the end."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up_late() -> None:
            connection, _ = listening.accept()
            over.wait(MEMBERS["zookeeper"].hangs_up)
            connection.close()

        thread = threading.Thread(target=hang_up_late)
        thread.start()
        yield Address(*listening.getsockname())
        over.set()
        thread.join()


@pytest.mark.slow
def test_a_member_that_hangs_up_because_it_hears_nothing_is_silent(silent_member: Address) -> None:
    probes = Probes(kind="partition", target="lock:zookeeper-2", edges={LINK: (silent_member, ZOOKEEPER)})
    assert silence_after(ANSWER_TIMEOUT) > MEMBERS["zookeeper"].hangs_up

    assert probes.prove_silent(ANSWER_TIMEOUT) == keeps_silence(ZOOKEEPER) > ANSWER_TIMEOUT


BARE: Any = SimpleNamespace(servers=(), toxiproxy=None)


@pytest.mark.parametrize(
    "fault",
    [
        lambda: partition(BARE, 0, ["etcd-1"]),
        lambda: delay(BARE, 0, ["etcd-1"], print),
        lambda: slow(BARE, 0, ["etcd-1"], jitter=1, rate=None),
        lambda: redis_failover(BARE, "lock", LINK, range(2), None),
        lambda: postgres_failover(BARE, "storage", LINK, ((0, 1), ()), "killed", None),
    ],
    ids=["partition", "delay", "slow", "redis_failover", "postgres_failover"],
)
def test_without_proxies_an_edge_has_no_fault(fault: Callable[[], AbstractContextManager[object]]) -> None:
    with pytest.raises(FaultNotInstalledError, match="there are no proxies"), fault():
        pass
