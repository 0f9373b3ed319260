"""S3 over sockets of our own, because a race decides when each byte of a request leaves.

An answer has a deadline for all of it, and a limit for its size: the server may be broken or hostile.
"""

from __future__ import annotations

import http.client
import io
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from checkers.text.limits import MIB
from harness.core.errors import ConfigurationError
from harness.network.tls_stream import context_of
from workloads.settings import Tls

MOST = MIB  # bytes of one answer
NO_ACCOUNT = "fencepost"  # keys that servers without accounts take
_PORTS = {"http": 80, "https": 443}
_SYSTEM = Tls(ca_file="")  # trusts the authorities of this machine
_PIECE = 1 << 16  # bytes
_SHORTEST = 0.001  # s; 0 would mean not to wait at all
_ETAG = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class S3Answer:
    """The answer to a request; without a status it was lost, and the request may have taken effect."""

    status: int | None = None
    etag: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A signed request, as it goes over the wire."""

    method: str
    head: bytes
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """An S3 server with a bucket, and how to sign requests to it."""

    scheme: str
    host: str
    port: int
    bucket: str
    region: str
    user: str = NO_ACCOUNT
    password: str = field(default=NO_ACCOUNT, repr=False)
    timeout: float = 10.0  # s; of an answer

    @property
    def name(self) -> str:
        """Return its host, with the port unless that is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def request(
        self,
        method: str,
        key: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Request:
        """Sign a request about an object, or about the bucket if `key` is empty."""
        path = quote(f"/{self.bucket}/{key}" if key else f"/{self.bucket}")
        target = f"{path}?{urlencode(query)}" if query else path
        sent = {"Host": self.name, "Content-Length": str(len(body)), **(headers or {})}
        signed = AWSRequest(method, f"{self.scheme}://{self.name}{target}", data=body, headers=sent)
        S3SigV4Auth(Credentials(self.user, self.password), "s3", self.region).add_auth(signed)
        lines = (f"{name}: {value}\r\n" for name, value in signed.headers.items())
        head = f"{method} {target} HTTP/1.1\r\n{''.join(lines)}Connection: close\r\n\r\n"
        return Request(method=method, head=head.encode(), body=body)

    @contextmanager
    def exchange(self, request: Request) -> Iterator[Exchange]:
        """Open a connection for one request; nothing has been sent yet. Raises OSError."""
        with ExitStack() as closing:
            address = self.host, self.port
            plain = closing.enter_context(socket.create_connection(address, timeout=self.timeout))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = plain
            if self.scheme == "https":
                context = context_of(_SYSTEM)
                stream = closing.enter_context(context.wrap_socket(plain, server_hostname=self.host))
            try:
                yield Exchange(stream, request.method, self.timeout)
            finally:
                with suppress(OSError):
                    stream.shutdown(socket.SHUT_RDWR)  # ends a read in another thread

    def ask(self, request: Request) -> S3Answer:
        """Send a request at once, and wait for its answer."""
        try:
            with self.exchange(request) as exchange:
                exchange.send(request.head + request.body)
                return exchange.answer()
        except OSError:
            return S3Answer()


def server_at(url: str, **more: Any) -> S3Server:
    """Return the server at http://host:port; `more` are other fields. Raises ConfigurationError."""
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        raise ConfigurationError(f"{url} is no address of a server: {error}") from None
    if "@" in parts.netloc:
        raise ConfigurationError("credentials do not belong in a URL: use --user and --password-env")
    if scheme not in _PORTS or not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigurationError(f"{url} is no address of a server, such as http://127.0.0.1:9000")
    return S3Server(scheme=scheme, host=host, port=port or _PORTS[scheme], **more)


def account(user: str | None, variable: str | None) -> dict[str, str]:
    """Return the fields of a server for an access key id, and the environment variable with its secret key.

    Raises ConfigurationError unless both are given, or neither.
    """
    if not user and not variable:
        return {}
    if not user or not variable:
        raise ConfigurationError(
            "--user and --password-env go together: an access key id, and its secret key"
        )
    if not os.environ.get(variable):
        raise ConfigurationError(f"{variable} is not set, or is empty: export it, or name another")
    return {"user": user, "password": os.environ[variable]}


class Exchange:
    """One request and its answer, on a connection of their own."""

    def __init__(self, stream: socket.socket, method: str, timeout: float) -> None:
        """`timeout` is for all that is sent, and then for the whole answer (s)."""
        self._stream = stream
        self._method = method
        self._timeout = timeout
        self._sent_by = time.monotonic() + timeout

    def send(self, piece: bytes) -> None:
        """Send a part of the request; a server that refuses early may have closed the connection."""
        self._stream.settimeout(max(self._sent_by - time.monotonic(), _SHORTEST))
        with suppress(OSError):
            self._stream.sendall(piece)

    def answer(self) -> S3Answer:
        """Read the answer."""
        limited: Any = _Limited(self._stream, time.monotonic() + self._timeout)
        try:
            response = http.client.HTTPResponse(limited, method=self._method)
            response.begin()
            body = b"".join(iter(lambda: response.read(_PIECE), b""))
            if response.length:  # bytes that are missing
                return S3Answer()
        except (OSError, ValueError, http.client.HTTPException):
            return S3Answer()
        etag = response.getheader("ETag", "")
        return S3Answer(response.status, etag if _ETAG.fullmatch(etag) else "", body)


class _Limited(io.RawIOBase):
    """A connection that is read up to a deadline and a size; OSError beyond them."""

    def __init__(self, stream: socket.socket, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline
        self._left = MOST

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0 or self._left <= 0:
            raise TimeoutError
        self._stream.settimeout(left)
        size = self._stream.recv_into(buffer)
        self._left -= size
        return size
