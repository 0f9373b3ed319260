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

from workloads.client import NotApplied, Unknown
from workloads.early_answers import something_waits, unfit_for_a_request

_HEAD = """\
POST {path} HTTP/1.1\r
Host: {host}\r
Accept: application/json\r
Accept-Encoding: identity\r
Content-Type: application/json\r
Content-Length: {length}\r
\r
"""
_SHOWN = 200  # characters of an answer that is told
MOST = 2**20  # bytes of an answer's body
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
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise Unknown(f"{self}: {error}") from error

    def __str__(self) -> str:
        said = self.content.decode(errors="replace").strip()
        return f"status {self.status}, {said[:_SHOWN]!r}"


class HttpConnection:
    """One connection, opened by the first call; an error that leaves doubt closes it."""

    def __init__(self, endpoint: str, timeout: float) -> None:
        """`endpoint` is host:port, and the path before those of the calls if there is one."""
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
        most: int = MOST,
    ) -> Reply:
        """Send one request, call `sent`, and return what was answered, whatever that is.

        An answer may have `most` bytes. Raises NotApplied if the server was never reached,
        Unknown for anything else.
        """
        deadline = time.monotonic() + self._timeout
        opened = self._opened(deadline)
        try:
            with _shut_at(deadline, opened):
                opened.sendall(self._request(path, fields))
                if sent is not None:
                    sent()
                return self._reply(opened, most)
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
        """Open the connection now, if it is not; NotApplied if the server is not reached."""
        self._opened(time.monotonic() + self._timeout)

    def close(self) -> None:
        """Drop the connection; the next call opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _request(self, path: str, fields: Mapping[str, Any]) -> bytes:
        """Head and body together: they travel as one message, as whole as they can."""
        body = json.dumps(fields).encode()
        head = _HEAD.format(path=self._path + path, host=self._host, length=len(body))
        return head.encode() + body

    def _reply(self, opened: socket.socket, most: int) -> Reply:
        with closing(http.client.HTTPResponse(opened, method="POST")) as answer:
            answer.begin()
            reply = Reply(answer.status, _body(answer, most))
            if answer.will_close:
                self.close()
        return reply

    def _opened(self, deadline: float) -> socket.socket:
        if self._socket is not None and something_waits(self._socket.fileno()):
            self.close()  # it is closed, as any that is idle may be, or an answer came that nobody asked for
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
            if unfit := unfit_for_a_request(opened):
                opened.close()
                refusal = unfit
                continue
            opened.settimeout(None)  # from here on the watchdog counts
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
        raise NotApplied(f"not connected: {refusal}")


def _addresses(host: str, port: int) -> list[tuple[str, int]]:
    """Look a name up, once: no deadline would hold while a name server is silent."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [(str(address[0]), port) for *_, address in found]


def _body(answer: http.client.HTTPResponse, most: int) -> bytes:
    """Read a body to its end; Unknown where it is longer than it may be."""
    body = answer.read(most + 1)
    if len(body) > most:
        raise Unknown(f"the answer has more than {most} bytes")
    if answer.length:
        raise http.client.IncompleteRead(body, answer.length)
    return body


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
