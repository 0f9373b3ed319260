"""Partitions on real servers of both engines: proved in force and proved healed, or an error."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import OperationalError

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.partition import partition
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.probe import reply
from harness.network.topology import Address, NetworkEdge
from tests.support.crossed import Crossed
from tests.support.waiting import SOON

pytestmark = pytest.mark.engine

SERVERS = ["etcd-1", "postgres"]
SILENCE = 0.3  # s; what answers may need longer on a busy machine


def answers(cluster: Any, client: Any, server: Any, within: float = SOON) -> bool | str:
    systems = {each.name: each.system for each in cluster.servers}
    return reply(cluster.edge(client, server), systems[server], within) is not None


def is_silent(cluster: Any, client: Any, server: Any) -> bool:
    return not answers(cluster, client, server, SILENCE)


def is_whole(cluster: Cluster | str) -> bool:
    return all(answers(cluster, client, server) for client in (0, 1) for server in SERVERS)


@pytest.mark.parametrize("direction", ["both", "to-server", "to-client"])
def test_a_client_is_cut_off_until_the_block_ends(cluster: Any, direction: Any) -> None:
    with partition(cluster, 0, SERVERS, direction) as fault:
        silent = [is_silent(cluster, 0, server) for server in SERVERS]
        others = [answers(cluster, 1, server) for server in SERVERS]
        evidence, healed_during = fault.evidence, fault.healed

    assert silent == others == [True, True]
    assert fault.target == "client:0"
    assert f"cut off from etcd-1, postgres ({direction})" in evidence
    assert not healed_during
    assert "every server answered" in fault.healed
    assert is_whole(cluster)


@pytest.mark.parametrize(
    ("how", "shown"), [("refused", "proxy disabled"), ("reset", "reset_peer toxic upstream")]
)
def test_connections_may_be_refused_or_reset(cluster: Any, how: Any, shown: str) -> None:
    with partition(cluster, 0, ["etcd-1"], how=how) as fault:
        errors = [end_of_request(cluster.edge(0, "etcd-1")) for _ in range(3)]
        during = [answers(cluster, 0, server) for server in SERVERS]
        others = [answers(cluster, 1, server) for server in SERVERS]

    assert during == [False, True]
    assert others == [True, True]
    assert set(errors) <= (IN_DOCKER if hasattr(cluster, "client") else {how})
    assert f"cut off from etcd-1 ({how})" in fault.evidence
    assert shown in fault.evidence
    assert is_whole(cluster)


IN_DOCKER = {"refused", "closed", "reset"}
"""Docker accepts connections at the port that it publishes, and only closes them if a proxy resets them."""


def end_of_request(address: Address) -> str:
    """How does a request end that is not answered?"""
    try:
        with socket.create_connection((address.host, address.port), timeout=SOON) as connection:
            connection.sendall(b"GET /version HTTP/1.0\r\n\r\n")
            return connection.recv(64).decode() or "closed"
    except ConnectionRefusedError:
        return "refused"
    except (ConnectionResetError, BrokenPipeError):
        return "reset"


def test_a_write_in_a_to_client_partition_lands_without_an_answer(cluster: Any) -> None:
    postgres = cluster.servers[-1].address
    edge = cluster.edge(0, "postgres")
    password = postgres.login.password or None
    direct = f"host={postgres.host} port={postgres.port} {POSTGRES_LOGIN}"
    cut_off = f"host={edge.host} port={edge.port} {POSTGRES_LOGIN}"
    with psycopg.connect(direct, password=password, autocommit=True) as harness:
        harness.execute("DROP TABLE IF EXISTS landed; CREATE TABLE landed (value text)")
        client = psycopg.connect(cut_off, password=password, autocommit=True)
        with partition(cluster, 0, ["postgres"], "to-client"):
            waiting = threading.Thread(target=insert, args=(client,))
            waiting.start()
            landed = poll(lambda: harness.execute("SELECT value FROM landed").fetchall())
            still_waiting = waiting.is_alive()
        waiting.join()

    assert landed == [("x",)]
    assert still_waiting
    client.close()


def insert(connection: Any) -> None:
    with pytest.raises(OperationalError):
        connection.execute("INSERT INTO landed VALUES ('x')")


def poll(look: Callable[[], list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    for _ in range(1000):
        if found := look():
            return found
    raise AssertionError("it did not happen")


def test_a_partition_heals_when_the_block_is_cut_short(cluster: Any) -> None:
    with pytest.raises(KeyboardInterrupt), partition(cluster, 0, SERVERS):
        raise KeyboardInterrupt

    assert is_whole(cluster)


@pytest.mark.slow
def test_a_cut_that_is_not_observed_is_not_in_force(local_cluster: Cluster) -> None:
    """Toxiproxy cuts another client's edge than the probed one."""

    with (
        pytest.raises(FaultNotInstalledError, match="client:0 → etcd-1 still answers"),
        partition(Crossed(local_cluster), 0, ["etcd-1"]),
    ):
        pass

    assert is_whole(local_cluster)


@pytest.mark.slow
def test_silence_without_an_answer_before_proves_nothing(local_cluster: Cluster) -> None:
    toxiproxy = local_cluster.toxiproxy
    toxiproxy.cut(NetworkEdge(0, "etcd-1"), "both")
    try:
        with (
            pytest.raises(FaultNotInstalledError, match="did not answer before the cut either"),
            partition(local_cluster, 0, ["etcd-1"]),
        ):
            pass
        untouched = toxiproxy.state(NetworkEdge(0, "etcd-1")).cut
    finally:
        toxiproxy.heal(NetworkEdge(0, "etcd-1"))

    assert untouched == {"upstream", "downstream"}
