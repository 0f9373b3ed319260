"""Certificates for servers on this machine, made by openssl, and an end of TLS in front of a plain server."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.missing import miss

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of an authority, and of a server that it has certified."""

    authority: Path
    certificate: Path
    key: Path


def certified(folder: Path, names: str = "DNS:localhost,IP:127.0.0.1", days: int = 2) -> Certificates:
    """Make an authority, and a certificate for these names that is valid for so many days."""
    if shutil.which("openssl") is None:
        miss("openssl is not installed")
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    ca_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
    extensions.write_text(f"subjectAltName={names}\n")
    authority = ["-x509", *EC, "-keyout", ca_key, "-out", made.authority, "-subj", "/CN=authority"]
    openssl("req", *authority, "-days", "2")
    openssl("req", *EC, "-keyout", made.key, "-out", request, "-subj", "/CN=server")
    signed_by = ["-CA", made.authority, "-CAkey", ca_key, "-CAcreateserial", "-extfile", extensions]
    openssl("x509", "-req", "-in", request, "-out", made.certificate, "-days", str(days), *signed_by)
    return made


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@contextmanager
def terminated(upstream: str, certificates: Certificates) -> Iterator[str]:
    """Yield the address where `upstream` is reached over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    context.load_verify_locations(certificates.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    host, _, port = upstream.partition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(host, port)
        both = asyncio.gather(_copy(reader, requests), _copy(answers, writer))
        with suppress(asyncio.CancelledError, OSError):
            await both

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # clients that were refused
    thread = threading.Thread(target=loop.run_forever, daemon=True)  # a browser has the loop of this one
    thread.start()
    starting = asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result()
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(1 << 16):
        writer.write(chunk)
        await writer.drain()
    writer.close()


async def _ended(server: asyncio.Server) -> None:
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
