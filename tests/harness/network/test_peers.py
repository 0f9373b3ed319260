"""Which user of this machine holds the other end of a connection."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from harness.network import peers

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
