"""A connection over HTTP whose every call has a deadline, and that never repeats a request.

A socket's timeout counts anew with each byte that comes, and so does that of every client
built on one: a server that lets its answer drip would be waited for without an end. Here a
watchdog shuts the socket at the deadline of the whole call. Proxies that the environment
names are not looked at.

Every request is a POST, and its body one JSON object, as is that of every answer: cut short,
it is none.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from workloads.client import NotApplied, Unknown

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_SHOWN = 200  # characters of an answer that is told
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    status: int
    content: bytes

    def read_as(self, kind: type[Said]) -> Said:
        """Read the body of a 200 as a type; Unknown where it is something else, or lacks a field."""
        if self.status != HTTPStatus.OK:
            raise Unknown(str(self))
        return self.content_as(kind)

    def content_as(self, kind: type[Said]) -> Said:
        """Read the body as a type; Unknown where it does not fit."""
        try:
            return msgspec.json.decode(self.content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unknown(f"{self}: {error}") from error

    def __str__(self) -> str:
        said = self.content.decode(errors="replace").strip()
        return f"status {self.status}, {said[:_SHOWN]!r}"


class HttpConnection:
    """One connection, opened by the first call; an error that leaves doubt closes it."""

    def __init__(self, endpoint: str, timeout: float) -> None:
        """`endpoint` is host:port, and the path before those of the calls if there is one."""
        parts = urlsplit(f"//{endpoint}")
        self._host, self._port = parts.hostname or "", parts.port or http.client.HTTP_PORT
        self._path = parts.path.rstrip("/")
        self._timeout = timeout  # seconds; of each call, connecting included
        self._addresses = _addresses(self._host, self._port)
        self._connection: http.client.HTTPConnection | None = None

    def call(self, path: str, fields: Mapping[str, Any], sent: Callable[[], None] | None = None) -> Reply:
        """Send one request, call `sent`, and return what was answered, whatever that is.

        Raises NotApplied if the server was never reached, Unknown for anything else.
        """
        deadline = time.monotonic() + self._timeout
        connection = self._opened(deadline)
        try:
            with _shut_at(deadline, connection.sock):
                connection.request("POST", self._path + path, json.dumps(fields).encode(), _HEADERS)
                if sent is not None:
                    sent()
                answer = connection.getresponse()
                return Reply(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            late = time.monotonic() >= deadline
            raise Unknown(
                f"no answer within the timeout of {self._timeout:g} s" if late else repr(error)
            ) from error

    def connect(self) -> None:
        """Open the connection now, if it is not; NotApplied if the server is not reached."""
        self._opened(time.monotonic() + self._timeout)

    def close(self) -> None:
        """Drop the connection; the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self, deadline: float) -> http.client.HTTPConnection:
        if self._connection is None or _is_dropped(self._connection):
            self.close()
            self._connection = self._open(deadline)
        return self._connection

    def _open(self, deadline: float) -> http.client.HTTPConnection:
        refusal: OSError | str = f"{self._host} has no address"
        for address in self._addresses:
            try:
                opened = socket.create_connection(address, max(deadline - time.monotonic(), 0.001))
            except OSError as error:
                refusal = error
                continue
            opened.settimeout(None)  # from here on the watchdog counts
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = http.client.HTTPConnection(self._host, self._port)
            connection.sock = opened
            return connection
        raise NotApplied(f"not connected: {refusal}")


def _addresses(host: str, port: int) -> list[tuple[str, int]]:
    """Look a name up, once: no deadline would hold while a name server is silent."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [(str(address[0]), port) for *_, address in found]


def _is_dropped(connection: http.client.HTTPConnection) -> bool:
    """Has the server closed it, as it may any that is idle? Nothing else is to be read between calls."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def _shut_at(deadline: float, opened: socket.socket) -> Iterator[None]:
    """Shut a socket at a time: whatever waits for it then ends, after what has come already."""

    def shut() -> None:
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)

    watchdog = threading.Timer(max(deadline - time.monotonic(), 0), shut)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
