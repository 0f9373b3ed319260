"""The process of the TLS relay: plain text from our own clients on loopback, TLS to servers.

Its standard input has an order in each line, as JSON, and each is answered with a port:

- `{"open": …}`: listen for clients of a server, at a new port;
- `{"refuse": port}`: refuse connections there; the port stays ours;
- `{"accept": port}`: accept them again.

It ends with its standard input, which only the harness holds open.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.network.peers import user_of
from harness.network.ports import HOST
from harness.network.tls_stream import TlsStream, context_of, received, sent
from workloads.settings import Tls

CONNECTING = 5.0  # s
BACKLOG = 128
PAUSE = 0.1  # s; after an accept that failed, for lack of descriptors
HTTP2 = b"PRI * HTTP/2"
RESETTING = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedServer:
    """A server, as the orders name it."""

    host: str  # where to connect: the server, or a proxy in front of it
    port: int
    tls: Tls

    def __str__(self) -> str:
        return f"{self.tls.host}, at {self.host}:{self.port}"


class Door:
    """A port that leads to a server."""

    def __init__(self, server: RelayedServer) -> None:
        """Reserve a port: no other process can take it."""
        self._server = server
        self._reserved = _bound(0)
        self._accepting: asyncio.Task[None] | None = None
        self._sessions: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port on loopback."""
        return int(self._reserved.getsockname()[1])

    def accept(self) -> None:
        """Accept connections from now on."""
        if self._accepting is None:
            listening = _bound(self.port)
            listening.listen(BACKLOG)
            self._accepting = asyncio.create_task(self._accept(listening))

    async def refuse(self) -> None:
        """Refuse connections from now on; those that are open stay."""
        accepting, self._accepting = self._accepting, None
        if accepting is not None:
            accepting.cancel()
            await asyncio.wait([accepting])

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                try:
                    client, peer = await loop.sock_accept(listening)
                except OSError as error:
                    sys.stderr.write(f"{self._server}: {error}\n")
                    await asyncio.sleep(PAUSE)
                    continue
                session = asyncio.create_task(_serve(client, peer, self._server))
                self._sessions.add(session)
                session.add_done_callback(self._sessions.discard)


def _bound(port: int) -> socket.socket:
    """Return a socket with this port, which only other sockets of the same user can share."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((HOST, port))
    made.settimeout(0)  # asyncio waits instead
    return made


async def _serve(client: socket.socket, peer: tuple[str, int], server: RelayedServer) -> None:
    """Connect a client to the server, if it is ours, until the server's side closes."""
    with client:
        try:
            user = user_of(peer, client.getsockname())
            if user != os.geteuid():
                who = "one that is already gone" if user is None else f"one of user {user}"
                sys.stderr.write(f"{server}: refused a connection from {peer}, {who}\n")
                return
            # In a thread, because a name may take long to resolve.
            at = (server.host, server.port)
            with await asyncio.to_thread(socket.create_connection, at, CONNECTING) as upstream:
                upstream.settimeout(0)
                for each in (client, upstream):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await _relay(client, TlsStream(upstream), server)
        except ConnectionResetError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETTING)
        except OSError as error:
            sys.stderr.write(f"{server}: {error!r}\n")


async def _relay(client: socket.socket, upstream: TlsStream, server: RelayedServer) -> None:
    """Pass on requests and answers; ConnectionResetError if the server's side was reset.

    A client that closes ends only the requests: what it sent still arrives.
    """
    requests = asyncio.create_task(_pass_on_requests(client, upstream, server))
    try:
        async for data in upstream.answers():
            with suppress(OSError):  # it has gone
                await sent(client, data)
    finally:
        requests.cancel()
        (end,) = await asyncio.gather(requests, return_exceptions=True)
    if isinstance(end, ConnectionResetError):  # the kernel reports it only once
        raise end


async def _pass_on_requests(client: socket.socket, upstream: TlsStream, server: RelayedServer) -> None:
    first = data = await _request(client)
    if first:  # gRPC needs h2 negotiated, and HTTP/1.1 must not have it
        protocol = "h2" if first.startswith(HTTP2) else "http/1.1"
        await upstream.start(_context(server, protocol), server.tls.host)
    while data:
        await upstream.send(data)
        data = await _request(client)
    await upstream.finish()


async def _request(client: socket.socket) -> bytes:
    try:
        return await received(client)
    except OSError:  # a client that resets its connection closes it
        return b""


@cache
def _context(server: RelayedServer, protocol: str) -> ssl.SSLContext:
    context = context_of(server.tls)
    context.set_alpn_protocols([protocol])
    context.options |= ssl.OP_NO_RENEGOTIATION  # otherwise sending might have to wait for an answer
    return context


async def _obey(order: dict[str, Any], doors: dict[int, Door]) -> int:
    """Do what a line says, and return the port that it is about."""
    ((what, about),) = order.items()
    if what == "open":
        door = Door(RelayedServer(host=about["host"], port=about["port"], tls=Tls(**about["tls"])))
        doors[door.port] = door
        door.accept()
        return door.port
    if what == "refuse":
        await doors[about].refuse()
    else:
        doors[about].accept()
    return int(about)


async def main() -> None:
    """Run the command line."""
    doors: dict[int, Door] = {}
    while order := await asyncio.to_thread(sys.stdin.readline):
        sys.stdout.write(f"{await _obey(json.loads(order), doors)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
