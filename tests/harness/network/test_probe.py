"""Probes: what counts as an answer to one, also of a server that speaks first."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from harness.network.mariadb_server import PROBE
from harness.network.probe import answers, reply, requests
from harness.network.topology import Address
from tests.support.http_servers import at_port, listening
from tests.support.waiting import PATIENCE

GREETING = b"\x49\0\0\0\n11.8.9-MariaDB".ljust(0x49 + 4, b".")
BAD_HANDSHAKE = b"\x16\0\0\x02\xff\x13\x04#08S01Bad handshake"


def greets(connection: socket.socket) -> None:
    with connection:
        connection.sendall(GREETING)


def greets_and_answers(connection: socket.socket) -> None:
    with connection:
        connection.sendall(GREETING)
        if connection.recv(len(PROBE)) == PROBE:
            connection.sendall(BAD_HANDSHAKE)


def greets_and_waits(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.sendall(GREETING)
        while connection.recv(1):
            pass


def test_what_follows_a_greeting_answers_a_probe() -> None:
    with listening(greets_and_answers) as at:
        assert reply(at_port(at), "mariadb", PATIENCE) is not None


@pytest.mark.parametrize("serve", [greets, greets_and_waits])
def test_a_greeting_does_not_answer_a_probe(serve: object) -> None:
    with listening(serve) as at:
        assert reply(at_port(at), "mariadb", 0.3) is None


def test_a_probe_on_an_open_connection_waits_beyond_the_greeting() -> None:
    with listening(greets_and_answers) as at, requests({"edge": (at_port(at), "mariadb")}) as sent:
        assert answers(sent, PATIENCE, at_least=1) == {"edge"}
        assert sent["edge"].size == len(PROBE)


def test_a_greeting_on_an_open_connection_is_no_answer() -> None:
    with listening(greets_and_waits) as at, requests({"edge": (at_port(at), "mariadb")}) as sent:
        assert answers(sent, 0.3, at_least=1) == set()


def test_nothing_that_listens_answers_no_probe() -> None:
    assert reply(Address("127.0.0.1", 1), "mariadb", 0.3) is None
