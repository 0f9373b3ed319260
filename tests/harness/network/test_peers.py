"""Which user holds the other end of a connection, and that no other one uses a run's certificate."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from harness.engines.engine import Engine
from harness.network import peers
from harness.network.topology import Address
from tests.support.other_user import ask_as
from tests.support.relayed_servers import OVER_TLS, PLAIN, Relayed, listening_ports, relayed_servers

UserOf = Callable[[peers.Address, peers.Address], int | None]


@pytest.fixture(params=[peers.user_of, peers.asked, peers.listed])
def user_of(request: pytest.FixtureRequest) -> UserOf:
    way: UserOf = request.param
    return way


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_the_other_end_is_our_own(listener: socket.socket, user_of: UserOf) -> None:
    with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
        assert user_of(accepted.getpeername(), accepted.getsockname()) == os.geteuid()


def test_a_client_with_an_ipv6_socket_is_known_too(listener: socket.socket, user_of: UserOf) -> None:
    with socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        with listener.accept()[0] as accepted:
            assert user_of(accepted.getpeername(), accepted.getsockname()) == os.geteuid()


def test_the_other_end_is_another_users(listener: socket.socket, other_user: int, user_of: UserOf) -> None:
    host, port = listener.getsockname()
    with (
        subprocess.Popen(["bash", "-c", f"exec 3<>/dev/tcp/{host}/{port}; cat <&3"], user=other_user),
        listener.accept()[0] as accepted,
    ):
        assert user_of(accepted.getpeername(), accepted.getsockname()) == other_user


def test_a_connection_that_its_client_has_closed_is_nobodys(listener: socket.socket, user_of: UserOf) -> None:
    client = socket.create_connection(listener.getsockname())
    with closing(listener.accept()[0]) as accepted:
        client.close()

        assert user_of(accepted.getpeername(), accepted.getsockname()) is None


def test_ends_that_are_not_connected_are_nobodys(listener: socket.socket, user_of: UserOf) -> None:
    with socket.create_connection(listener.getsockname()) as client:
        assert user_of(("127.0.0.1", 1), listener.getsockname()) is None
        assert user_of(client.getsockname(), ("127.0.0.1", 1)) is None


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
