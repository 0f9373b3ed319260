"""TLS to servers that already run: a relay behind the proxies, `tls_relay.py < SERVERS`.

Clients, probes and Toxiproxy speak plain text to an address on loopback; the relay speaks TLS to
the server, verifies its certificate for the host that the target names, and shows the certificate
of clients if the target gives one. So a fault in front
of the relay is the same with TLS and without, and no client needs TLS of its own.

The connection to the server opens with the client's first bytes, because gRPC needs `h2`
negotiated, and HTTP/1.1 must not have it. When one side closes, so does the other.

The relay lends the user's certificate, so it serves no other user of the machine: only connections of
the harness' own user, and of the user that Toxiproxy runs as, if the harness started it as another one.
A connection that is gone before its user is known is refused too.

PostgreSQL's clients speak TLS themselves, through the proxies: its passwords are bound to it.

It is a process of its own. It ends with its standard input, which only the harness holds open.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import IO

from harness.core.errors import InfrastructureError
from harness.network.peers import user_of
from harness.network.ports import HOST
from harness.network.topology import Address, AttachedSpec

MOST = 1 << 16  # bytes read at a time
CONNECTING = 5.0  # s
POSTGRES = "postgres"
HTTP2 = b"PRI * HTTP/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """A server as the relay's process gets it."""

    host: str
    port: int
    ca_file: str
    cert_file: str
    key_file: str


@contextmanager
def relayed(
    servers: Sequence[AttachedSpec], log: IO[bytes] | None = None, proxies_user: int | None = None
) -> Iterator[tuple[Address, ...]]:
    """Yield where to reach each server without TLS, until the block ends; itself, if it speaks none.

    `log` gets a line for each connection that failed or was refused. `proxies_user` may connect as well as
    our own.
    """
    with_tls = [server for server in servers if server.ca_file and server.system != POSTGRES]
    if not with_tls:
        yield tuple(map(_direct, servers))
        return
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "harness.network.tls_relay"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log or subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None  # noqa: S101 - a pipe
        assert process.stdout is not None  # noqa: S101 - a pipe
        users = sorted({os.geteuid(), os.geteuid() if proxies_user is None else proxies_user})
        setup = {"users": users, "servers": [asdict(_told(server)) for server in with_tls]}
        process.stdin.write(json.dumps(setup).encode() + b"\n")
        process.stdin.flush()
        said = process.stdout.readline()
        if not said:
            raise InfrastructureError("the TLS relay ended at once")
        ports = dict(zip((server.name for server in with_tls), json.loads(said), strict=True))
        yield tuple(
            replace(server.address, host=HOST, port=ports[server.name])
            if server.name in ports
            else _direct(server)
            for server in servers
        )


def _direct(server: AttachedSpec) -> Address:
    return replace(
        server.address,
        ca_file=server.ca_file,
        cert_file=server.cert_file,
        key_file=server.key_file,
        certified=server.address.host,
    )


def context_of(ca_file: str, cert_file: str = "", key_file: str = "") -> ssl.SSLContext:
    """Return what verifies a server's certificate and name, and shows ours.

    OSError or ssl.SSLError if a file cannot be read; an encrypted key is one that cannot be.
    """
    context = ssl.create_default_context(cafile=ca_file)
    if cert_file:
        context.load_cert_chain(cert_file, key_file, password="")  # else OpenSSL would ask on the terminal
    return context


def _told(server: AttachedSpec) -> _Server:
    return _Server(
        host=server.address.host,
        port=server.address.port,
        ca_file=server.ca_file,
        cert_file=server.cert_file,
        key_file=server.key_file,
    )


async def _relay(
    server: _Server, users: Collection[int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Connect one client of these users to the server until one of them closes."""
    upstream: asyncio.StreamWriter | None = None
    try:
        peer, local = map(writer.get_extra_info, ("peername", "sockname"))
        user = user_of(peer, local)
        if user not in users:
            who = "one that is already gone" if user is None else f"one of user {user}"
            sys.stderr.write(f"{server.host}:{server.port}: refused a connection from {peer}, {who}\n")
            return
        first = await reader.read(MOST)
        if not first:
            return
        async with asyncio.timeout(CONNECTING):
            answers, upstream = await _reached(server, first)
        upstream.write(first)
        both = {asyncio.create_task(_copy(reader, upstream)), asyncio.create_task(_copy(answers, writer))}
        _, left = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.wait(both)
    except asyncio.CancelledError:  # the relay ends; asyncio would log it as an error
        pass
    except (OSError, TimeoutError) as error:
        sys.stderr.write(f"{server.host}:{server.port}: {error!r}\n")
    finally:
        for each in (writer, upstream):
            if each is not None:
                each.close()  # what is on its way still arrives


async def _reached(server: _Server, first: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = _context(server, "h2" if first.startswith(HTTP2) else "http/1.1")
    return await asyncio.open_connection(server.host, server.port, ssl=context, server_hostname=server.host)


@cache
def _context(server: _Server, protocol: str) -> ssl.SSLContext:
    context = context_of(server.ca_file, server.cert_file, server.key_file)
    context.set_alpn_protocols([protocol])
    return context


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(MOST):
            writer.write(chunk)
            await writer.drain()


async def _serve(servers: Sequence[_Server], users: Collection[int]) -> None:
    listening = [await asyncio.start_server(partial(_relay, server, users), HOST, 0) for server in servers]
    sys.stdout.write(json.dumps([each.sockets[0].getsockname()[1] for each in listening]) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Run the command line."""
    setup = json.loads(sys.stdin.readline())
    asyncio.run(_serve([_Server(**each) for each in setup["servers"]], setup["users"]))


if __name__ == "__main__":
    main()
