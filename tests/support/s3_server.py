"""A small S3 server whose conditional writes are atomic, or wrong in one way."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.certificates import Certificates
from tests.support.waiting import PATIENCE

BUCKET = "races"


def is_raced(key: str, headers: Any) -> bool:
    """Is it a conditional request, and not one that checks whether conditions count at all?"""
    is_conditional = "If-Match" in headers or "If-None-Match" in headers
    return is_conditional and not key.endswith("-check")


class Store(ThreadingHTTPServer):
    """The objects of one bucket, and how the server goes wrong."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, wrong: str, *, lists_versions: bool) -> None:
        """`wrong`: "", "races", "ignores", "closes", "closes half", "fails", "refuses", "keeps", "lists everything", "lists more",
        "ignores on absence"."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.wrong = wrong
        self.lists_versions = lists_versions
        self.listing, self.more = "ListVersionsResult", ""
        self.objects: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, int]] = []  # method, path, bytes
        self.lock = threading.Lock()
        self.checked = threading.Condition()
        self.waiting: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def etag(self, key: str) -> str | None:
        body = self.objects.get(key)
        return None if body is None else f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'

    def change(self, key: str, headers: Any, body: bytes | None) -> int:
        """Put an object, or delete it if there is no body; return the status."""
        if self.wrong == "races":
            status = self._condition(key, headers)
            if is_raced(key, headers):
                self._wait_for_another(key)
            return status or self._store(key, body)
        with self.lock:
            return self._condition(key, headers) or self._store(key, body)

    def _wait_for_another(self, key: str) -> None:
        """Wait between the condition and the write until another client has got as far."""
        with self.checked:
            self.waiting[key] += 1
            self.checked.notify_all()
            self.checked.wait_for(lambda: self.waiting[key] > 1, PATIENCE)

    def _condition(self, key: str, headers: Any) -> int:
        if self.wrong == "ignores":
            return 0
        exists = key in self.objects
        if self.wrong == "ignores on absence" and not exists:
            return 0
        if headers["If-None-Match"] == "*" and exists:
            return 412
        if headers["If-Match"] and headers["If-Match"] != self.etag(key):
            return 412 if exists else 404
        return 0

    def _store(self, key: str, body: bytes | None) -> int:
        if body is None:
            if self.wrong == "keeps":
                return 403
            self.objects.pop(key, None)
            return 204
        self.objects[key] = body
        return 200


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: Store

    def do_PUT(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    do_GET = do_DELETE = do_PUT  # noqa: N815 - names of BaseHTTPRequestHandler

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        key = parts.path.removeprefix(f"/{BUCKET}").removeprefix("/")
        self.server.asked.append((self.command, self.path, len(body)))
        if is_raced(key, self.headers) and self._goes_wrong(body):
            return
        if self.server.wrong == "refuses":
            self._send(403, b"<Error><Code>InvalidAccessKeyId</Code></Error>")
        elif not key:
            self._list(parse_qs(parts.query, keep_blank_values=True)["prefix"][0])
        elif self.command == "GET":
            found = self.server.objects.get(key)
            self._send(404 if found is None else 200, found or b"")
        else:
            status = self.server.change(key, self.headers, body if self.command == "PUT" else None)
            self._send(status, etag=self.server.etag(key) or "")

    def _goes_wrong(self, body: bytes) -> bool:
        """Answer a raced request with an error, or not at all, if the server does."""
        wrong = self.server.wrong
        if wrong == "fails":
            self._send(503)
        elif wrong == "closes" or (wrong == "closes half" and b'"c0"' not in body):
            self.close_connection = True
        else:
            return False
        return True

    def _list(self, prefix: str) -> None:
        if not self.server.lists_versions:
            self._send(501)
            return
        shown = "" if self.server.wrong == "lists everything" else prefix
        keys = [key for key in sorted(self.server.objects, reverse=True) if key.startswith(shown)][:20]
        if self.server.wrong == "lists more":
            keys = [f"{prefix}{len(self.server.asked)}"]
        versions = "".join(f"<Version><Key>{key}</Key></Version>" for key in keys)
        listing = self.server.listing
        self._send(200, f"<{listing}>{versions}{self.server.more}</{listing}>".encode())

    def _send(self, status: int, body: bytes = b"", etag: str = "") -> None:
        self.send_response(status)
        if etag:
            self.send_header("ETag", etag)
        self.send_header("Content-Length", "0" if status == 204 else str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Log nothing."""


@contextmanager
def s3_server(
    wrong: str = "", *, lists_versions: bool = True, certificates: Certificates | None = None
) -> Iterator[Store]:
    """Run such a server until the block ends; with a certificate, over TLS."""
    with Store(wrong, lists_versions=lists_versions) as store:
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.certificate, certificates.key)
            store.socket = context.wrap_socket(store.socket, server_side=True)
        serving = threading.Thread(target=store.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield store
        store.shutdown()
        serving.join()
