"""Servers that answer HTTP requests with given bytes, and clients of them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from harness.clients.recorder import RecordedSession
from harness.network.topology import Address
from tests.support.systems import SECOND, Memory, lock_settings, storage_settings
from tests.support.waiting import PATIENCE
from workloads.locks import connect
from workloads.storages import load_kind

TIMEOUT = 0.5  # seconds


@contextmanager
def listening(serve: Callable[[socket.socket], None], host: str = "127.0.0.1") -> Iterator[str]:
    """Yield the address of a server that serves each connection in a thread, until the block ends."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server((host, 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"{host}:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def at_port(endpoint: str) -> Address:
    host, _, port = endpoint.partition(":")
    return Address(host, int(port))


@contextmanager
def answering(*answers: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the address of a server that answers each request with the next of these, then with nothing."""
    requests = []

    def serve(connection: Any) -> None:
        with connection, suppress(OSError):
            for answer in answers:
                if not (asked := connection.recv(65536)):
                    return
                requests.append(asked)
                for piece in [answer] if isinstance(answer, bytes) else answer:
                    connection.sendall(piece)
            connection.recv(65536)

    with listening(serve) as at:
        yield at, requests


def answer(content: bytes | dict[Any, Any] | list[Any], status: str = "200 OK") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def storage_at(endpoint: str, fencing: str = "none") -> Any:
    return load_kind("http").connect(storage_settings("http", [endpoint], fencing=fencing, timeout=TIMEOUT))


def lock_at(endpoint: str) -> Any:
    settings = lock_settings("http", [endpoint], timeout=TIMEOUT, ttl=SECOND)
    return connect(settings, RecordedSession(Memory(), 0, 1))


def wait_until_dropped(opened: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    opened.setblocking(False)
    while time.monotonic() < deadline:
        try:
            if opened.recv(1, socket.MSG_PEEK) == b"":
                break
        except BlockingIOError:
            time.sleep(0.01)
    opened.setblocking(True)


@contextmanager
def speaking(at_once: bytes = b"") -> Iterator[Any]:
    """Yield the address of a server that greets every client, its requests, and a function that sends data."""
    opened: list[Any] = []
    requests: list[Any] = []

    def say(said: Any) -> None:
        opened[-1].sendall(said)

    def serve(connection: Any) -> None:
        with connection, suppress(OSError):
            connection.sendall(at_once)
            opened.append(connection)
            while asked := connection.recv(65536):
                requests.append(asked)
                connection.sendall(answer({"resource_id": "r0", "fencing_token": 1, "bytes": "YQo="}))

    with listening(serve) as at:
        yield at, requests, say


@contextmanager
def closing_storage(endpoint: str, fencing: str = "none") -> Iterator[Any]:
    storage = storage_at(endpoint, fencing)
    yield storage
    storage.reconnect()


def grant() -> dict[str, Any]:
    return {
        "resource_id": "r0",
        "lock_acquired": True,
        "lock_token": "c0ffee",
        "fencing_token": 34,
        "lease_duration_ms": 700,
        "acquired_at": "2026-11-21T14:42:11Z",
    }
