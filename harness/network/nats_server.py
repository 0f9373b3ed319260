"""A server of NATS, asked as its clients do: it introduces itself, then answers a request to JetStream."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from harness.network.topology import Address
from workloads.settings import Login

TIMEOUT = 2.0  # s; per request
MOST = 2**20  # bytes of one line or answer
INBOX = "_INBOX.fencepost"
ASKED = f"SUB {INBOX} 1\r\nPUB $JS.API.INFO {INBOX} 0\r\n\r\n"


def has_jetstream(address: Address) -> bool:
    """Is its JetStream switched on? OSError or ValueError if it does not answer."""
    with _greeted(address) as (_, _, said):
        return bool(said.get("jetstream"))


def is_usable(address: Address) -> bool:
    """Does JetStream answer, so that its cluster has a leader? OSError or ValueError if nothing does."""
    with _greeted(address) as (connection, answers, _):
        connection.sendall(f"{_connect(address.login)}{ASKED}".encode())
        while line := answers.readline(MOST):
            if found := re.fullmatch(rb"MSG \S+ 1 (\d{1,6})\r\n", line):
                return "error" not in json.loads(answers.read(int(found[1])))
    return False


def version(address: Address) -> str:
    """Return such as "2.12.1"; OSError, ValueError or KeyError if it does not say."""
    with _greeted(address) as (_, _, said):
        return str(said["version"])


@contextmanager
def _greeted(address: Address) -> Iterator[tuple[socket.socket, BinaryIO, dict[str, Any]]]:
    """Yield a connection with its answers, and what the server says of itself."""
    with (
        socket.create_connection((address.host, address.port), TIMEOUT) as connection,
        connection.makefile("rb") as answers,
    ):
        word, _, said = answers.readline(MOST).partition(b" ")
        if word != b"INFO":
            raise ConnectionError(f"NATS at {address} did not introduce itself: {word[:80]!r}")
        yield connection, answers, json.loads(said)


def _connect(login: Login) -> str:
    options: dict[str, Any] = {"verbose": False, "pedantic": False, "lang": "python", "version": "1"}
    if login.password:
        options |= {"user": login.user, "pass": login.password}
    return f"CONNECT {json.dumps(options)}\r\n"
