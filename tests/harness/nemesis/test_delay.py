"""Delays and slow networks on real servers of both engines: held back while in force, then delivered."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis import slow as slow_network
from harness.nemesis.delay import delay
from harness.nemesis.slow import slow
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.probe import reply
from harness.network.systems import SYSTEMS
from harness.network.topology import NetworkEdge
from tests.support.crossed import Crossed
from tests.support.waiting import SOON, wait_for
from workloads.client import Unknown
from workloads.storages.postgres import conninfo
from workloads.storages.postgres_connection import PostgresConnection

pytestmark = pytest.mark.engine

SERVERS = ["etcd-1", "postgres"]
SILENCE = 0.3  # s; what answers may need longer on a busy machine


def answers(cluster: Any, client: int, server: str, within: float = SOON) -> bool:
    systems = {each.name: each.system for each in cluster.servers}
    return reply(cluster.edge(client, server), systems[server], within) is not None


@pytest.fixture
def landed(cluster: Cluster) -> Iterator[Any]:
    """The values in a table of PostgreSQL, as the harness sees them."""
    address = cluster.servers[-1].address
    direct = f"host={address.host} port={address.port} {POSTGRES_LOGIN}"
    with psycopg.connect(direct, password=address.login.password or None, autocommit=True) as harness:
        harness.execute("DROP TABLE IF EXISTS landed; CREATE TABLE landed (value text)")
        yield lambda: [value for (value,) in harness.execute("SELECT value FROM landed").fetchall()]


@pytest.fixture
def postgres(cluster: Cluster) -> Iterator[PostgresConnection]:
    """Client 0's own connection, which waits `SILENCE` s for an answer, and is open."""
    edge = cluster.edge(0, "postgres")
    connection = PostgresConnection(conninfo(edge.host, edge.port, edge.login.password), SILENCE)
    connection.execute("SELECT 1")
    yield connection
    connection.close()


@pytest.mark.slow
def test_a_write_lands_after_its_client_gave_up(cluster: Any, landed: Any, postgres: Any) -> None:
    with delay(cluster, 0, ["postgres"], lambda: None):
        with pytest.raises(Unknown):
            postgres.execute("INSERT INTO landed VALUES ('x')")
        during = landed()

    assert during == []
    assert wait_for(lambda: landed() == ["x"])


def test_what_was_held_back_arrives_in_order(cluster: Any, landed: Any) -> None:
    edge = cluster.edge(0, "postgres")
    login = f"host={edge.host} port={edge.port} {POSTGRES_LOGIN}"
    with (
        psycopg.connect(login, password=edge.login.password or None, autocommit=True) as client,
        client.pipeline(),
        delay(cluster, 0, ["postgres"], lambda: None),
    ):
        for value in range(20):
            client.execute("INSERT INTO landed VALUES (%s)", [str(value)])
        client.pgconn.flush()

    assert landed() == [str(value) for value in range(20)]


@pytest.mark.parametrize("closes", [True, False])
def test_many_held_connections_are_delivered(cluster: Any, closes: bool) -> None:
    """Also those that their client has closed: Toxiproxy must not wait for any of them."""
    opened = []
    with delay(cluster, 0, SERVERS, lambda: None) as fault:
        for server in SERVERS * 20:
            edge = cluster.edge(0, server)
            opened.append(socket.create_connection((edge.host, edge.port)))
            for _ in range(3):
                opened[-1].sendall(SYSTEMS[server.partition("-")[0]].probe)
            if closes:
                opened[-1].close()
    for each in opened:
        each.close()

    assert "every server answered" in fault.healed


def test_requests_are_held_back_until_the_block_ends(cluster: Any) -> None:
    with delay(cluster, 0, SERVERS, lambda: None) as fault:
        during = [answers(cluster, 0, server, SILENCE) for server in SERVERS]
        shown = [cluster.toxiproxy.state(NetworkEdge(0, server)).held for server in SERVERS]
        evidence, healed_during = fault.evidence, fault.healed

    assert during == [False, False]
    assert shown == [{"upstream"}, {"upstream"}]
    assert "messages to etcd-1, postgres are held back" in evidence
    assert not healed_during
    assert "were answered" in fault.healed
    assert all(answers(cluster, 0, server) for server in SERVERS)


def test_other_edges_are_not_affected(cluster: Any) -> None:
    shown = []
    with delay(
        cluster, 0, ["etcd-1"], lambda: shown.append(cluster.toxiproxy.state(NetworkEdge(0, "etcd-1")).held)
    ):
        during = [answers(cluster, *edge) for edge in ((0, "postgres"), (1, "etcd-1"), (1, "postgres"))]

    assert during == [True, True, True]
    assert shown == [{"upstream"}], "a stopped client goes on once its messages are held back"


def test_a_delay_ends_when_the_block_is_cut_short(cluster: Any) -> None:
    with pytest.raises(KeyboardInterrupt), delay(cluster, 0, SERVERS, lambda: None):
        raise KeyboardInterrupt

    assert all(answers(cluster, 0, server) for server in SERVERS)
    assert cluster.toxiproxy.state(NetworkEdge(0, "etcd-1")).held == frozenset()


@pytest.mark.slow
def test_a_delay_that_is_not_observed_is_not_in_force(local_cluster: Cluster) -> None:
    """Toxiproxy holds another client's edge than the probed one."""

    with (
        pytest.raises(FaultNotInstalledError, match="client:0 → etcd-1 still answers"),
        delay(Crossed(local_cluster), 0, ["etcd-1"], lambda: None),
    ):
        pass

    assert all(answers(local_cluster, 0, server) for server in SERVERS)


def test_a_request_that_is_lost_is_not_delayed(local_cluster: Cluster) -> None:
    with (
        pytest.raises(FaultNotInstalledError, match="what was held back on client:0 → etcd-1 had no answer"),
        delay(local_cluster, 0, ["etcd-1"], lambda: None),
    ):
        local_cluster.toxiproxy.replace(NetworkEdge(0, "etcd-1"), local_cluster.servers[0].upstream)

    assert all(answers(local_cluster, 0, server) for server in SERVERS)


JITTER = 400 * NS["ms"]


@pytest.fixture
def timed(cluster: Cluster) -> Iterator[Any]:
    """Client 0's own open connection; returns how long a statement with some bytes takes (s)."""
    edge = cluster.edge(0, "postgres")
    login = f"host={edge.host} port={edge.port} {POSTGRES_LOGIN}"
    with psycopg.connect(login, password=edge.login.password or None, autocommit=True) as connection:

        def seconds(size: int = 1) -> float:
            started = time.monotonic()
            connection.execute("SELECT length(%s)", ["x" * size])
            return time.monotonic() - started

        yield seconds


def toxics(cluster: Any, client: int = 0) -> list[str]:
    return [str(cluster.toxiproxy.state(NetworkEdge(client, server))) for server in SERVERS]


@pytest.mark.slow
def test_messages_are_late_by_varying_times(cluster: Any, timed: Any) -> None:
    with slow(cluster, 0, SERVERS, jitter=JITTER, rate=None) as fault:
        during = [timed() for _ in range(12)]
        shown = toxics(cluster)
        evidence, healed_during = fault.evidence, fault.healed

    assert min(during) < 0.3
    assert max(during) - min(during) > 0.1
    assert shown == ["latency 0 to 400 ms toxic upstream"] * 2
    assert "ms late since" in evidence
    assert not healed_during
    assert toxics(cluster) == ["no toxic"] * 2
    assert wait_for(lambda: max(timed() for _ in range(5)) < 0.1)  # once the machine lets it


@pytest.mark.slow
def test_messages_arrive_at_a_low_rate(cluster: Any, timed: Any) -> None:
    with slow(cluster, 0, SERVERS, jitter=None, rate=10) as fault:
        during = timed(20_000)
        evidence = fault.evidence

    assert 1.5 < during < 5
    assert "Toxiproxy shows bandwidth 10 KB/s toxic upstream" in evidence
    assert toxics(cluster) == ["no toxic"] * 2
    assert timed(20_000) < 0.5


def test_other_clients_keep_a_fast_network(cluster: Any) -> None:
    with slow(cluster, 0, ["postgres"], jitter=JITTER, rate=100):
        during, other = toxics(cluster), toxics(cluster, client=1)

    assert during == ["no toxic", "bandwidth 100 KB/s toxic upstream and latency 0 to 400 ms toxic upstream"]
    assert other == ["no toxic"] * 2


@pytest.mark.slow
def test_a_network_is_fast_again_when_the_block_is_cut_short(cluster: Any) -> None:
    with pytest.raises(KeyboardInterrupt), slow(cluster, 0, SERVERS, jitter=JITTER, rate=10):
        raise KeyboardInterrupt

    assert toxics(cluster) == ["no toxic"] * 2


@pytest.mark.slow
def test_a_network_that_stays_fast_is_not_slow(local_cluster: Cluster, monkeypatch: Any) -> None:
    """Toxiproxy slows another client's edge than the probed one.

    The jitter is so long that no answer of a busy machine looks like it.
    """
    monkeypatch.setattr(slow_network, "PROVING", 0.5)

    with (
        pytest.raises(FaultNotInstalledError, match="client:0 → etcd-1 still answers in time"),
        slow(Crossed(local_cluster), 0, ["etcd-1"], jitter=10 * JITTER, rate=None),
    ):
        pass
