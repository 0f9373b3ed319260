"""An HTTP connection with a deadline for every call, and without retries.

A socket timeout starts again with each byte received, and so do the timeouts of HTTP
clients: a server that sends one byte at a time could hold a call forever. Here a watchdog
shuts the socket down at the deadline of the whole call. Proxy settings in the environment
are ignored.

Every request is a POST. Requests and answers carry one JSON object, so a truncated body
does not parse.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from checkers.text.limits import MIB, described
from workloads.client import NotApplied, Unknown
from workloads.unsolicited_data import has_input, why_unusable

_HEAD = """\
POST {path} HTTP/1.1\r
Host: {host}\r
Accept: application/json\r
Accept-Encoding: identity\r
Content-Type: application/json\r
Content-Length: {length}\r
\r
"""
_MAX_SHOWN = 200  # characters of an answer in a message
MAX_BODY = MIB  # bytes of an answer's body
T = TypeVar("T")


class TooLongError(Unknown):
    """The answer is longer than the caller takes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The status and body of a server's answer."""

    status: int
    content: bytes

    def read_as(self, kind: type[T]) -> T:
        """Decode the body of a 200; Unknown for any other status, or if it does not fit the type."""
        if self.status != HTTPStatus.OK:
            raise Unknown(str(self))
        return self.content_as(kind)

    def content_as(self, kind: type[T]) -> T:
        """Decode the body; Unknown if it does not fit the type."""
        try:
            return msgspec.json.decode(self.content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise Unknown(f"{self}: {error}") from error

    def __str__(self) -> str:
        said = self.content[: 4 * _MAX_SHOWN].decode(errors="replace").strip()
        return f"status {self.status}, {said[:_MAX_SHOWN]!r}"


class HttpConnection:
    """One connection, opened by the first call; an error with unknown outcome closes it."""

    def __init__(self, endpoint: str, timeout: float) -> None:
        """`endpoint` is host:port, with an optional path prefix."""
        parts = urlsplit(f"//{endpoint}")
        self._host = parts.netloc
        self._path = parts.path.rstrip("/")
        self._timeout = timeout  # seconds; of each call, connecting included
        self._addresses = _addresses(parts.hostname or "", parts.port or http.client.HTTP_PORT)
        self._socket: socket.socket | None = None

    def call(
        self,
        path: str,
        fields: Mapping[str, Any],
        sent: Callable[[], None] | None = None,
        limit: int = MAX_BODY,
    ) -> Reply:
        """Send one request, call `sent`, and return the answer with any status.

        `limit` bounds the answer's body (bytes). Raises NotApplied if the server was never
        reached, TooLongError beyond the limit, Unknown for any other error.
        """
        deadline = time.monotonic() + self._timeout
        opened = self._opened(deadline)
        try:
            with _shut_at(deadline, opened):
                opened.sendall(self._request(path, fields))
                if sent is not None:
                    sent()
                return self._reply(opened, limit)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            late = time.monotonic() >= deadline
            raise Unknown(
                f"no answer within the timeout of {self._timeout:g} s" if late else repr(error)
            ) from error
        except Unknown:
            self.close()
            raise

    def connect(self) -> None:
        """Open the connection unless it is open; NotApplied if the server cannot be reached."""
        self._opened(time.monotonic() + self._timeout)

    def close(self) -> None:
        """Drop the connection; the next call opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _request(self, path: str, fields: Mapping[str, Any]) -> bytes:
        """Build head and body together, so that one send carries both."""
        body = json.dumps(fields).encode()
        head = _HEAD.format(path=self._path + path, host=self._host, length=len(body))
        return head.encode() + body

    def _reply(self, opened: socket.socket, limit: int) -> Reply:
        with closing(http.client.HTTPResponse(opened, method="POST")) as answer:
            answer.begin()
            reply = Reply(answer.status, _body(answer, limit))
            if answer.will_close:
                self.close()
        return reply

    def _opened(self, deadline: float) -> socket.socket:
        if self._socket is not None and has_input(self._socket.fileno()):
            self.close()  # the server closed the idle connection, or sent unsolicited data
        if self._socket is None:
            self._socket = self._open(deadline)
        return self._socket

    def _open(self, deadline: float) -> socket.socket:
        refusal: OSError | str = f"{self._host} has no address"
        for address in self._addresses:
            try:
                opened = socket.create_connection(address, max(deadline - time.monotonic(), 0.001))
            except OSError as error:
                refusal = error
                continue
            if reason := why_unusable(opened):
                opened.close()
                refusal = reason
                continue
            opened.settimeout(None)  # from here on the watchdog enforces the deadline
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
        raise NotApplied(f"not connected: {refusal}")


def _addresses(host: str, port: int) -> list[tuple[str, int]]:
    """Resolve a name once, up front: a lookup has no deadline while a name server is silent."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [(str(address[0]), port) for *_, address in found]


def _body(answer: http.client.HTTPResponse, limit: int) -> bytes:
    """Read a body to its end; TooLongError if it is longer than `limit` bytes."""
    body = answer.read(limit + 1)
    if len(body) > limit:
        raise TooLongError(f"the answer has more than {described(limit)}")
    if answer.length:
        raise http.client.IncompleteRead(body, answer.length)
    return body


@contextmanager
def _shut_at(deadline: float, opened: socket.socket) -> Iterator[None]:
    """Shut a socket down at the deadline: blocked calls return what has arrived, then end."""

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
