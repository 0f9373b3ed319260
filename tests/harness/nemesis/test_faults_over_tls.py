"""Faults on the edges to a server that already runs: over TLS, a client sees the same as in plain text."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.nemesis.delay import delay
from harness.nemesis.partition import partition
from harness.nemesis.slow import slow
from tests.support.relayed_servers import OVER_TLS, PLAIN, Relayed, relay_processes, relayed_servers
from tests.support.selection import nightly
from tests.support.waiting import SOON, wait_for

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SILENCE = 0.3  # s; what a client waits for an answer before it gives up
MIB = 1 << 20


@pytest.fixture(scope="module")
def servers(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relayed]:
    with relayed_servers(local_engine, tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture(params=[OVER_TLS, *nightly(PLAIN)])
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    """One that no other test uses."""
    return "".join(each if each.isalnum() else "-" for each in request.node.name)


@pytest.fixture
def client(servers: Relayed, server: str) -> Iterator[socket.socket]:
    """Client 0's connection to the server, which is open and has logged in."""
    with servers.opened(servers.cluster.edge(0, server)) as connection:
        connection.settimeout(SILENCE)
        yield connection


def end_of(connection: socket.socket, within: float = SOON) -> str:
    """What the client sees next: the end of its connection, silence or an answer."""
    connection.settimeout(within)
    try:
        return connection.recv(64).decode() or "closed"
    except TimeoutError:
        return "silence"
    except ConnectionResetError:
        return "reset"


def opened_again(servers: Relayed, server: str) -> str:
    """What a client sees that connects and sends a request."""
    at = servers.cluster.edge(0, server)
    try:
        with socket.create_connection((at.host, at.port), SOON) as connection:
            connection.sendall(b"PING\r\n")
            return end_of(connection, SILENCE)
    except ConnectionRefusedError:
        return "refused"


def write(connection: socket.socket, key: str) -> None:
    connection.sendall(f"SET {key} 1\r\n".encode())


def test_refused_connections_stay_closed(servers: Relayed, server: str, client: socket.socket) -> None:
    at = servers.cluster.edge(0, server)
    with (
        socket.create_connection((at.host, at.port)) as unused,
        partition(servers.cluster, 0, [server], how="refused"),
    ):
        ends = [end_of(client), end_of(unused)]
        again = [opened_again(servers, server) for _ in range(3)]
        other = servers.said(servers.cluster.edge(1, server), "PING")

    assert ends == ["closed", "closed"]
    assert again == ["refused"] * 3
    assert other == "+PONG"
    assert servers.said(servers.cluster.edge(0, server), "PING") == "+PONG"


def test_a_reset_edge_resets_what_sends(servers: Relayed, server: str, client: socket.socket) -> None:
    with partition(servers.cluster, 0, [server], how="reset"):
        again = [opened_again(servers, server) for _ in range(3)]
        client.sendall(b"PING\r\n")
        end = end_of(client)

    assert again == ["reset"] * 3
    assert end == "closed"  # Toxiproxy resets only connections that are opened later


@pytest.mark.parametrize("direction", ["both", "to-server"])
def test_a_cut_loses_requests_and_healing_closes(
    servers: Relayed, server: str, client: socket.socket, key: str, direction: Any
) -> None:
    with partition(servers.cluster, 0, [server], direction):
        write(client, key)
        during = [end_of(client, SILENCE), opened_again(servers, server)]

    assert during == ["silence", "silence"]
    assert end_of(client) == "closed"
    assert not servers.has(key)


def test_a_request_lands_while_its_answer_is_lost(
    servers: Relayed, server: str, client: socket.socket, key: str
) -> None:
    with partition(servers.cluster, 0, [server], "to-client"):
        write(client, key)
        assert wait_for(lambda: servers.has(key))
        during = end_of(client, SILENCE)

    assert during == "silence"
    assert end_of(client) == "closed"


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def half_close(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_WR)


CLOSINGS: dict[str, Callable[[socket.socket], None]] = {
    "closes": socket.socket.close,
    "half-closes": half_close,
    "resets": reset,
}


@pytest.mark.parametrize("closing", CLOSINGS)
def test_a_held_write_lands_although_its_client_has_gone(
    servers: Relayed, server: str, client: socket.socket, key: str, closing: str
) -> None:
    with delay(servers.cluster, 0, [server], lambda: None):
        write(client, key)
        assert end_of(client, SILENCE) == "silence"
        CLOSINGS[closing](client)
        during = servers.has(key)

    assert not during
    assert wait_for(lambda: servers.has(key))


@pytest.mark.parametrize("closing", ["closes", *nightly("half-closes", "resets")])
def test_held_writes_of_new_connections_land(servers: Relayed, server: str, key: str, closing: str) -> None:
    at = servers.cluster.edge(0, server)
    with delay(servers.cluster, 0, [server], lambda: None):
        connection = socket.create_connection((at.host, at.port))
        connection.sendall(servers.login + f"SET {key} 1\r\n".encode())
        assert end_of(connection, SILENCE) == "silence"
        CLOSINGS[closing](connection)
        during = servers.has(key)

    assert not during
    assert wait_for(lambda: servers.has(key))
    connection.close()


def test_held_requests_get_answers_in_order(servers: Relayed, server: str, client: socket.socket) -> None:
    with delay(servers.cluster, 0, [server], lambda: None):
        for number in range(200):
            client.sendall(f"ECHO {number}\r\n".encode())

    client.settimeout(SOON)
    with client.makefile("r", newline="\r\n") as answers:
        said = [answers.readline() for _ in range(400)][1::2]
    assert said == [f"{number}\r\n" for number in range(200)]


def test_little_of_what_is_held_is_kept_and_all_of_it_arrives(
    servers: Relayed, server: str, client: socket.socket, key: str
) -> None:
    """A client that sends more than the kernel keeps has to wait, as without a relay."""
    value = b"x" * 64 * MIB
    request = memoryview(
        b"SET %s 0\r\n*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n"
        % (key.encode(), len(key), key.encode(), len(value), value)
    )
    (relay,) = relay_processes()
    before = relay.memory_info().rss
    with delay(servers.cluster, 0, [server], lambda: None):
        done = 0
        with suppress(TimeoutError):
            while done < len(request):
                done += client.send(request[done : done + MIB])
        grown = relay.memory_info().rss - before

    client.settimeout(SOON)
    client.sendall(request[done:])
    assert done < len(request)
    assert grown < 8 * MIB
    assert wait_for(lambda: servers.said(servers.redis, f"STRLEN {key}") == f":{len(value)}")


def test_a_slow_edge_is_late_and_lets_everything_through(servers: Relayed, server: str) -> None:
    with slow(servers.cluster, 0, [server], jitter=400_000_000, rate=None) as fault:
        answer = servers.said(servers.cluster.edge(0, server), "PING")

    assert answer == "+PONG"
    assert "late since" in fault.evidence
    assert "every server answered" in fault.healed
