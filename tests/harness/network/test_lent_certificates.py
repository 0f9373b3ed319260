"""Other users of the machine cannot use the certificate of a run, at any of its ports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.engines.engine import Engine
from harness.network.topology import Address
from tests.support.other_user import ask_as
from tests.support.relayed_servers import OVER_TLS, PLAIN, Relayed, listening_ports, relayed_servers

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def servers(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relayed]:
    with relayed_servers(local_engine, tmp_path_factory.mktemp("servers")) as running:
        yield running


def test_another_user_gets_nothing_executed_over_tls_at_any_port(servers: Relayed, other_user: int) -> None:
    cluster = servers.cluster
    assert cluster.toxiproxy
    plain = {cluster.edge(client, PLAIN).port for client in (0, 1)}
    ports = listening_ports(cluster) - plain  # those lead to the server's own plain port, and lend nothing

    assert {cluster.edge(client, OVER_TLS).port for client in (0, 1)} < ports
    assert len(ports) == 5  # two proxies, the relay in front of each, and the harness' own way
    for port in ports:
        request = servers.login + b"SET stolen-%d 1\r\n" % port
        assert b"+OK" not in ask_as(other_user, Address("127.0.0.1", port), request)
        assert not servers.has(f"stolen-{port}")


def test_such_a_request_is_executed_where_it_may_be(servers: Relayed, other_user: int) -> None:
    at = servers.cluster.edge(0, PLAIN)

    answer = ask_as(other_user, at, servers.login + b"SET allowed 1\r\nQUIT\r\n")

    assert answer == b"+OK\r\n" * 3
    assert servers.has("allowed")


@pytest.mark.parametrize("client", [0, 1])
def test_our_own_clients_are_served(servers: Relayed, client: int) -> None:
    assert servers.said(servers.cluster.edge(client, OVER_TLS), f"SET mine-{client} 1") == "+OK"
    assert servers.has(f"mine-{client}")


def test_the_harness_reaches_the_server_without_proxies(servers: Relayed) -> None:
    (direct,) = (each.address for each in servers.cluster.servers if each.name == OVER_TLS)

    assert servers.said(direct, "PING") == "+PONG"
