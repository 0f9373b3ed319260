"""A server that speaks Redis' protocol, accepts every write, and whose log has no end."""

from __future__ import annotations

import itertools
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

ANSWERS: dict[bytes, Any] = {
    b"EVAL": "accepted",
    b"HMGET": ["v", "1"],
    b"HSET": 1,
    b"INFO": "redis_version:8.0.2\r\nrole:master\r\nmaster_repl_offset:0\r\nrun_id:1\r\n",
    b"PING": b"+PONG\r\n",
    b"SCAN": ["0", []],
    b"UNLINK": 0,
}
VALUE = "x" * 1000
"""Of each entry of the log."""


class EndlessRedis(socketserver.ThreadingTCPServer):
    """A server that runs."""

    daemon_threads = True

    def __init__(self, *, in_one_answer: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.in_one_answer = in_one_answer  # is one page without end, or are there pages without end?
        self.sent = 0  # entries of the log

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.StreamRequestHandler):
    server: EndlessRedis

    def handle(self) -> None:
        with suppress(ConnectionError):
            while line := self.rfile.readline():
                words = [self._word() for _ in range(int(line[1:]))] if line[:1] == b"*" else line.split()
                if words[0] == b"XRANGE":
                    self._log(int(words[-1]))
                else:
                    self.wfile.write(_encoded(ANSWERS.get(words[0], b"+OK\r\n")))

    def _word(self) -> bytes:
        return self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2]

    def _log(self, page: int) -> None:
        without_end = self.server.in_one_answer
        self.wfile.write(b"*%d\r\n" % (10**12 if without_end else page))
        for _ in itertools.count() if without_end else range(page):
            self.server.sent += 1
            entry = ["resource", "r0", "token", "1", "value", VALUE]
            self.wfile.write(_encoded([f"{self.server.sent}-0", entry]))


def _encoded(answer: Any) -> bytes:
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, int):
        return b":%d\r\n" % answer
    if isinstance(answer, str):
        return b"$%d\r\n%s\r\n" % (len(answer), answer.encode())
    return b"*%d\r\n" % len(answer) + b"".join(map(_encoded, answer))


@contextmanager
def endless_redis(*, in_one_answer: bool) -> Iterator[EndlessRedis]:
    """Serve until the block ends."""
    with EndlessRedis(in_one_answer=in_one_answer) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
