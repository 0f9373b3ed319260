"""TLS over a connected socket, step by step: what is sent, half-closed and reset is seen at once.

asyncio's own TLS gives up a handshake and a closing connection after a while, cannot half-close, and hides a
reset. Here a handshake and what was sent wait as long as the network holds them back, as plain text does.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

from workloads.settings import Tls

MOST = 1 << 16  # bytes read at a time, and kept in each direction


def context_of(tls: Tls) -> ssl.SSLContext:
    """Return what verifies a server's certificate and name, and shows ours.

    It accepts what OpenSSL and libpq do, on every Python: 3.13 also demands extensions that private
    authorities often lack, such as the key usage, and trusts an intermediate authority alone.
    OSError or ssl.SSLError if a file cannot be read; an encrypted key is one that cannot be.
    """
    context = ssl.create_default_context(cafile=tls.ca_file)
    context.verify_flags = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST
    if tls.cert_file:  # without a password, OpenSSL would ask for one on the terminal
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
    return context


async def received(connection: socket.socket) -> bytes:
    """Return what comes next; b"" at the end."""
    return await asyncio.get_running_loop().sock_recv(connection, MOST)


async def sent(connection: socket.socket, data: bytes) -> None:
    """Send all of it, at the speed of the other side."""
    await asyncio.get_running_loop().sock_sendall(connection, data)


class TlsStream:
    """The client's end of a connection that may become one with TLS.

    One task sends, and another one reads `answers` all the time: a connection may also end before anything
    was sent on it.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take a connected socket that does not block; the caller closes it."""
        self._connection = connection
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._ready = asyncio.Event()

    async def start(self, context: ssl.SSLContext, name: str) -> None:
        """Shake hands with the server of that name; it takes as long as the network does."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        await self._shake_hands(self._tls)
        await self._ready.wait()

    async def send(self, data: bytes) -> None:
        """Send data, after `start`."""
        assert self._tls is not None, "start() comes first"  # noqa: S101
        self._tls.write(data)
        await self._flush()

    async def finish(self) -> None:
        """Send nothing more; the server then closes, and answers may come until it does."""
        if self._tls is None:
            with suppress(OSError):  # it has ended meanwhile
                self._connection.shutdown(socket.SHUT_WR)
            return
        # In TLS only: a proxy that sees an end closes both sides at once, and a server that is sending then
        # gets a reset, and may drop what it has not read yet.
        with suppress(ssl.SSLError):  # the server has not said the same yet
            self._tls.unwrap()
        await self._flush()

    async def answers(self) -> AsyncIterator[bytes]:
        """Yield what comes until the server closes.

        Raises ConnectionResetError if the connection is reset, ssl.SSLError if one side rejects the other.
        """
        while chunk := await received(self._connection):
            if self._tls is None:
                raise ConnectionError("the server spoke first, which is not TLS")
            self._incoming.write(chunk)
            if not self._ready.is_set():
                await self._shake_hands(self._tls)
            while self._ready.is_set():
                try:
                    data = self._tls.read(MOST)
                except ssl.SSLWantReadError:
                    break
                except ssl.SSLZeroReturnError:
                    return
                if not data:
                    return
                yield data

    async def _shake_hands(self, tls: ssl.SSLObject) -> None:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            await self._flush()
        except ssl.SSLError:
            await self._flush()  # says why
            raise
        else:
            await self._flush()
            self._ready.set()

    async def _flush(self) -> None:
        await sent(self._connection, self._outgoing.read())
