"""A tap on the wires between a client and its servers: what it sent, request by request.

It is a proxy that counts every request before it forwards it, and can stop the servers
exactly before one. So a test can show, for each request of a call, how the call ends if
that request gets no answer, and that the request was not sent twice.
"""

from __future__ import annotations

import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from tests.support.systems import Endpoint, password_of
from workloads.settings import host_and_port

Split = Callable[[bytes], Iterator[bytes]]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA = 0  # the type of HTTP/2's frames that carry a message
LOGIN = b"\r\nAUTH\r\n"
PING = 11  # ZooKeeper's heartbeat
QUERY = b"\x03"  # MariaDB's command with a statement
NEW_CONNECTION = (b"SET NAMES", b"SET SESSION")


def of_etcd(stream: bytes) -> Iterator[bytes]:
    """Yield each gRPC message; a frame is a length of 3 bytes, a type, 5 more bytes, and its content."""
    at = len(PREFACE)
    while at + 9 <= len(stream):
        length, kind = int.from_bytes(stream[at : at + 3], "big"), stream[at + 3]
        at += 9 + length
        if kind == DATA and length and at <= len(stream):
            yield stream[at - length : at]


def of_redis(stream: bytes) -> Iterator[bytes]:
    """Yield each command but the login: an array of strings, each with its length before it."""
    at = 0
    while header := re.compile(rb"\*(\d+)\r\n").match(stream, at):
        begin, at = at, header.end()
        for _ in range(int(header[1])):
            length = re.compile(rb"\$(\d+)\r\n").match(stream, at)
            if not length:
                return
            at = length.end() + int(length[1]) + 2
        if at <= len(stream) and LOGIN not in stream[begin:at]:
            yield stream[begin:at]


def of_postgres(stream: bytes) -> Iterator[bytes]:
    """Yield each statement, up to its Sync, but what logs in: the greeting, without a type, and "p"."""
    at = begin = int.from_bytes(stream[:4], "big")
    while at + 5 <= len(stream):
        kind, length = stream[at : at + 1], int.from_bytes(stream[at + 1 : at + 5], "big")
        at += 1 + length
        if kind == b"p":
            begin = at
        elif kind == b"S" and at <= len(stream):
            yield stream[begin:at]
            begin = at


def of_mariadb(stream: bytes) -> Iterator[bytes]:
    """Yield each statement but those of a new connection; before each packet are its length and number."""
    at = 0
    while at + 4 <= len(stream):
        begin, number = at + 4, stream[at + 3]
        at = begin + int.from_bytes(stream[at : at + 3], "little")
        statement = stream[begin + 1 : at]
        is_query = number == 0 and stream[begin : begin + 1] == QUERY
        if is_query and at <= len(stream) and not statement.startswith(NEW_CONNECTION):
            yield statement


def of_zookeeper(stream: bytes) -> Iterator[bytes]:
    """Yield each request but heartbeats, without its number; the first frame is a greeting."""
    at = 0
    while at + 4 <= len(stream):
        begin, at = at + 4, at + 4 + int.from_bytes(stream[at : at + 4], "big")
        if begin == 4 or at > len(stream):
            continue
        _, operation = struct.unpack_from("!ii", stream, begin)
        if operation != PING:
            yield stream[begin + 4 : at]


def of_http(stream: bytes) -> Iterator[bytes]:
    """Yield each request's body: its headers say when it was made."""
    at = 0
    while (end := stream.find(b"\r\n\r\n", at)) >= 0:
        length = re.search(rb"(?i)content-length: (\d+)", stream[at:end])
        begin, at = end + 4, end + 4 + int(length[1] if length else 0)
        if at <= len(stream):
            yield stream[begin:at]


def of_nats(stream: bytes) -> Iterator[bytes]:
    """Yield each message that is published, without the inbox of its answer."""
    at = 0
    while (end := stream.find(b"\r\n", at)) >= 0:
        word, *fields = stream[at:end].split()
        at = end + 2
        if word in (b"PUB", b"HPUB"):
            begin, at = at, at + int(fields[-1]) + 2
            if at <= len(stream):
                yield fields[0] + b" " + stream[begin:at]


REQUESTS: dict[str, Split] = {
    "dynamodb": of_http,
    "etcd": of_etcd,
    "http": of_http,
    "kahuna": of_http,
    "mariadb": of_mariadb,
    "nats": of_nats,
    "postgres": of_postgres,
    "redis": of_redis,
    "s3": of_http,
    "zookeeper": of_zookeeper,
}
"""By system: what a client has sent over one connection, as requests."""


class Tap:
    """A proxy between one client and some servers."""

    def __init__(self, system: str, servers: Sequence[str]) -> None:
        self._split = REQUESTS[system]
        self._lock = threading.RLock()
        self._wires: list[threading.Thread] = []
        self._sent: dict[threading.Thread, bytes] = {}
        self._listeners: list[socket.socket] = []
        self._stop_before = 0
        self._stop: Callable[[], None] = lambda: None
        self.cut_after = sys.maxsize  # bytes of the answers on a connection, which ends there
        self.withheld = b""  # data with these bytes is delayed for longer than any client waits
        self.last_words = b""  # an answer that has them ends its connection, and no other is accepted
        self.answers_pass = threading.Event()  # while it is not set, every answer waits here
        self.answers_pass.set()
        self.requests: list[tuple[int, bytes]] = []  # to which server, and what
        self.endpoints = tuple(self._listen(number, server) for number, server in enumerate(servers))

    def stop_before(self, nth: int, stop: Callable[[], None]) -> None:
        """Count from now on, and call `stop` when the request of that number, from 1, has come this far."""
        with self._lock:
            self.requests.clear()
            self._stop_before, self._stop = nth, stop

    def drain(self, within: float) -> None:
        """Wait until the servers have closed every connection, and so have read all that was sent."""
        deadline = time.monotonic() + within
        for wire in list(self._wires):
            wire.join(max(0.0, deadline - time.monotonic()))
            assert not wire.is_alive(), f"a connection is still open that has sent {self._sent.get(wire)!r}"

    def close(self) -> None:
        """Accept no more connections."""
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # else one more is accepted
            listener.close()

    def _listen(self, number: int, server: str) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, number, server), daemon=True).start()
        return Endpoint(f"127.0.0.1:{listener.getsockname()[1]}", password_of([server]))

    def _accept(self, listener: socket.socket, number: int, server: str) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                wire = threading.Thread(target=self._carry, args=(client, number, server), daemon=True)
                self._wires.append(wire)
                wire.start()

    def _carry(self, client: socket.socket, number: int, server: str) -> None:
        with client, socket.create_connection(host_and_port(server)) as upstream:
            answers = threading.Thread(target=self._hand_on, args=(upstream, client), daemon=True)
            answers.start()
            sent, seen = b"", 0
            with suppress(OSError):
                while chunk := client.recv(65536):
                    sent += chunk
                    self._sent[threading.current_thread()] = sent
                    requests = list(self._split(sent))
                    self._note(number, requests[seen:])
                    seen = len(requests)
                    if not (self.withheld and self.withheld in chunk):
                        upstream.sendall(chunk)
            with suppress(OSError):
                upstream.shutdown(socket.SHUT_WR)
            answers.join()

    def _note(self, number: int, requests: Sequence[bytes]) -> None:
        with self._lock:
            for request in requests:
                self.requests.append((number, request))
                if len(self.requests) == self._stop_before:
                    self._stop()

    def _hand_on(self, source: socket.socket, target: socket.socket) -> None:
        """Forward the answer up to its end or the limit; a client that is gone gets nothing."""
        left = self.cut_after
        with suppress(OSError):
            while left > 0 and (chunk := source.recv(65536)):
                self.answers_pass.wait()
                with suppress(OSError):
                    target.sendall(chunk[:left])
                left -= len(chunk)
                if self.last_words and self.last_words in chunk:
                    self.close()
                    break
            target.shutdown(socket.SHUT_WR)
