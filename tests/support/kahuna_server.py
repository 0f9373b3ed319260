"""A server that implements exactly Kahuna's REST contract for locks, as in its source code.

Persistent locks of one server: a token counts the grants of a resource from 0 on, a lease
ends by time, and an owner that asks again is given the same token and no new lease. A
resource whose name ends in `/type-104` is answered with that type, and nothing is done. An
`--old` one calls the owner `lockId`, as Kahuna did before 1.1.

It needs only Python's standard library, so that it fits into a small image.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOCKED, BUSY, EXTENDED, UNLOCKED, GOT = range(5)
INVALID_INPUT, NO_SUCH_LOCK, INVALID_OWNER = 100, 102, 103


@dataclass
class Lock:
    """One resource."""

    token: int = -1
    owner: bytes | None = None
    expires: float = 0.0

    @property
    def is_held(self) -> bool:
        return self.owner is not None and time.monotonic() <= self.expires


class Kahuna:
    """All of them."""

    def __init__(self, owner_field: str) -> None:
        self._owner_field = owner_field
        self._guard = threading.Lock()
        self._locks: dict[str, Lock] = {}

    def answer(self, request: str, asked: Any) -> Any:
        wanted = re.search(r"/type-(\d+)$", asked.get("resource") or "")
        if wanted:
            return {"type": int(wanted[1])}
        owner = base64.b64decode(asked.get(self._owner_field) or "")
        if not asked.get("resource") or (request != "get-info" and not owner):
            return {"type": INVALID_INPUT}
        with self._guard:
            lock = self._locks.setdefault(asked["resource"], Lock())
            return getattr(self, request.replace("-", "_"))(lock, owner, asked)

    def try_lock(self, lock: Any, owner: Any, asked: Any) -> dict[str, Any]:
        if asked.get("expiresMs", 0) <= 0:
            return {"type": INVALID_INPUT}
        if lock.is_held and lock.owner != owner:
            return {"type": BUSY}
        if not lock.is_held:
            lock.token, lock.owner = lock.token + 1, owner
            lock.expires = time.monotonic() + asked["expiresMs"] / 1000
        return {"type": LOCKED, "fencingToken": lock.token}

    def try_extend(self, lock: Any, owner: Any, asked: Any) -> dict[str, Any]:
        if not lock.is_held:
            return {"type": NO_SUCH_LOCK}
        if lock.owner != owner:
            return {"type": INVALID_OWNER}
        lock.expires = time.monotonic() + asked["expiresMs"] / 1000
        return {"type": EXTENDED, "fencingToken": lock.token}

    def try_unlock(self, lock: Any, owner: Any, _asked: Any) -> Any:
        if lock.owner is None:
            return {"type": NO_SUCH_LOCK}
        if lock.owner != owner:
            return {"type": INVALID_OWNER}
        lock.owner = None
        return {"type": UNLOCKED}

    def get_info(self, lock: Any, _owner: Any, _asked: Any) -> dict[str, Any]:
        if not lock.is_held:
            return {"type": NO_SUCH_LOCK}
        return {"type": GOT, "owner": base64.b64encode(lock.owner).decode(), "fencingToken": lock.token}


class Server(ThreadingHTTPServer):
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    kahuna: Kahuna

    def do_GET(self) -> None:
        self._send(b"Kahuna.Server", "text/plain; charset=utf-8")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = self.path.removeprefix("/v1/locks/")
        answer = {"servedFrom": "", "fencingToken": 0} | self.kahuna.answer(request, asked)
        self._send(json.dumps(answer).encode(), "application/json; charset=utf-8")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "Kestrel"

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("KAHUNA_HTTP_PORT", "8081")))
    parser.add_argument("--old", action="store_true")
    options = parser.parse_args()
    Handler.kahuna = Kahuna("lockId" if options.old else "owner")
    server = Server((options.host, options.port), Handler)
    print(f"listening on http://{options.host}:{server.server_port}", flush=True)  # noqa: T201 - tests wait for it
    server.serve_forever()


if __name__ == "__main__":
    main()
