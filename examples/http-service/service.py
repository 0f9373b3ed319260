"""A minimal but correct lock service and fenced storage over HTTP.

Each grant of the lock carries a number larger than all earlier ones, even after a crash: the
number is on disk before it is sent. Leases are not on disk, so a restarted service grants no
lock until every lease that it may have granted has ended.

The storage appends to files. Its journal has one line for each accepted write, with the
token, and the line is on disk before the answer is sent: the mark of a resource is the
highest token of its lines, so it is exactly as durable as the writes. The files are rebuilt
from the journal.

It needs only Python's standard library: python3 service.py --data DIR
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

NO_TOKEN = -1  # the mark of a resource without writes


class RefusedError(Exception):
    """The request certainly had no effect, and never will: status 409."""


class Lock:
    """Leases of resources, each with a number that no other grant has."""

    def __init__(self, data: Path) -> None:
        self._counter = data / "counter.json"
        self._guard = threading.Lock()
        self._leases: dict[str, dict[str, Any]] = {}
        known = json.loads(self._counter.read_text()) if self._counter.exists() else {}
        self._token: int = known.get("token", 0)
        self._longest: int = known.get("longest_ms", 0)
        self._closed_until = time.monotonic() + self._longest / 1000 if known else 0.0

    def acquire(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Grant the lock if it is free."""
        resource, now = asked["resource_id"], time.monotonic()
        with self._guard:
            if now < self._closed_until or self._holder(resource):
                return {"resource_id": resource, "lock_acquired": False}
            self._count(asked["lease_duration_ms"])
            lease = {
                "lock_token": secrets.token_hex(16),
                "fencing_token": self._token,
                "owner": asked["owner"],
            }
            self._leases[resource] = lease
            return self._extend(resource, lease, asked["lease_duration_ms"])

    def renew(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Restart a lease that has not ended."""
        with self._guard:
            lease = self._mine(asked)
            if asked["lease_duration_ms"] > self._longest:
                raise RefusedError("longer than the acquire requested")
            return self._extend(asked["resource_id"], lease, asked["lease_duration_ms"])

    def release(self, asked: dict[str, Any]) -> dict[str, Any]:
        """End a lease that has not ended."""
        with self._guard:
            self._mine(asked)
            del self._leases[asked["resource_id"]]
            return {"resource_id": asked["resource_id"]}

    def _holder(self, resource: str) -> dict[str, Any] | None:
        lease = self._leases.get(resource)
        return lease if lease and time.monotonic() < lease["ends"] else None

    def _mine(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A client that lost the answer to its acquire has no lock_token, but knows its owner name."""
        lease = self._holder(asked["resource_id"])
        shown = "owner" if asked["lock_token"] is None else "lock_token"
        if lease is None or lease[shown] != asked[shown]:
            raise RefusedError("not the holder")
        return lease

    def _count(self, lease_ms: int) -> None:
        self._token += 1
        self._longest = max(self._longest, lease_ms)
        replace_durably(self._counter, {"token": self._token, "longest_ms": self._longest})

    def _extend(self, resource: str, lease: dict[str, Any], lease_ms: int) -> dict[str, Any]:
        """The lease begins when the service answers, later than when the client sent the request."""
        lease["ends"] = time.monotonic() + lease_ms / 1000
        return {
            "resource_id": resource,
            "lock_acquired": True,
            "lock_token": lease["lock_token"],
            "fencing_token": lease["fencing_token"],
            "lease_duration_ms": lease_ms,
            "acquired_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


class Storage:
    """Append-only files, and the highest token that each resource has seen."""

    def __init__(self, data: Path, policy: str, *, fenced: bool) -> None:
        self._policy = policy
        self._fenced = fenced
        self._files = data / "files"
        self._guard = threading.Lock()
        self._marks: dict[str, int] = {}
        self._accepted: list[dict[str, Any]] = []
        self._last: dict[str, dict[str, Any]] = {}
        self._journal = self._recovered(data / "journal.jsonl")

    def write(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Append, unless the storage has seen a newer token."""
        resource, token, payload = asked["resource_id"], asked["fencing_token"], asked["write_payload"]
        if payload["mutation_type"] != "APPEND":
            raise RefusedError(f"unsupported mutation_type {payload['mutation_type']}")
        base64.b64decode(payload["bytes"], validate=True)
        self._path(payload["file_path"])
        with self._guard:
            if self._fenced and not self._passes(resource, token, self._policy):
                raise RefusedError("stale")
            self._commit(
                {
                    "resource_id": resource,
                    "fencing_token": token,
                    "file_path": payload["file_path"],
                    "bytes": payload["bytes"],
                }
            )
        return {"resource_id": resource}

    def fence(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Raise the mark to a token, and write nothing."""
        resource, token = asked["resource_id"], asked["fencing_token"]
        with self._guard:
            if not self._passes(resource, token, "inclusive"):
                raise RefusedError("stale")
            self._commit({"resource_id": resource, "fencing_token": token, "fence": True})
        return {"resource_id": resource}

    def read(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return what the last accepted write appended, and its token."""
        with self._guard:
            last = self._last.get(asked["resource_id"], {})
        return {
            "resource_id": asked["resource_id"],
            "fencing_token": last.get("fencing_token"),
            "bytes": last.get("bytes"),
        }

    def commits(self, asked: dict[str, Any]) -> dict[str, Any]:
        """List the accepted writes and fences in the order in which they were accepted."""
        with self._guard:
            return {
                "commits": [
                    each for each in self._accepted if each["resource_id"].startswith(asked["prefix"])
                ]
            }

    def _passes(self, resource: str, token: int, policy: str) -> bool:
        mark = self._marks.get(resource, NO_TOKEN)
        return token >= mark if policy == "inclusive" else token > mark

    def _commit(self, entry: dict[str, Any]) -> None:
        """Write an entry to disk before applying it; if that fails, crash, and the restart reads it."""
        try:
            self._journal.write(json.dumps(entry).encode() + b"\n")
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError:
            os.abort()
        self._apply(entry)

    def _apply(self, entry: dict[str, Any]) -> None:
        resource = entry["resource_id"]
        self._marks[resource] = max(entry["fencing_token"], self._marks.get(resource, NO_TOKEN))
        self._accepted.append(entry)
        if "bytes" in entry:
            self._last[resource] = entry
            with self._path(entry["file_path"]).open("ab") as file:
                file.write(base64.b64decode(entry["bytes"]))

    def _path(self, name: str) -> Path:
        path = self._files / Path(name).name
        if Path(name).name != name or name in {"", ".."}:
            raise RefusedError(f"{name} is not a file name")
        return path

    def _recovered(self, journal: Path) -> BinaryIO:
        """Read the journal, rebuild the files, and continue at its end.

        An incomplete last line belongs to a write that was never acknowledged: it is cut off.
        """
        self._files.mkdir(exist_ok=True)
        for file in self._files.iterdir():
            file.unlink()
        journal.touch()
        whole = journal.read_bytes().rpartition(b"\n")
        for line in whole[0].splitlines():
            self._apply(json.loads(line))
        os.truncate(journal, len(whole[0]) + len(whole[1]))
        opened = journal.open("ab")
        os.fsync(opened.fileno())
        sync_folder(journal.parent)
        return opened


def replace_durably(path: Path, content: dict[str, Any]) -> None:
    """Replace a file's content durably and atomically."""
    new = path.with_suffix(".new")
    with new.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Flush a folder's file names to disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    request_queue_size = 128  # clients that connect at the same moment


class Handler(BaseHTTPRequestHandler):
    """Calls the method that a request's path names."""

    protocol_version = "HTTP/1.1"  # keeps connections open
    disable_nagle_algorithm = True
    calls: dict[str, Any] = {}  # noqa: RUF012 - set once, below

    def do_POST(self) -> None:
        """Answer 200, 409 for a refusal, 400 for an invalid request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path not in self.calls:
            self.answer(404, {"error": "no such path"})
            return
        try:
            self.answer(200, self.calls[self.path](json.loads(body)))
        except RefusedError as error:
            self.answer(409, {"error": str(error)})
        except (KeyError, TypeError, ValueError) as error:
            self.answer(400, {"error": repr(error)})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        """Send one JSON object."""
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: there are hundreds of requests per second."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="A lock service and a fenced storage over HTTP.")
    parser.add_argument("--data", type=Path, required=True, help="the folder for durable data")
    parser.add_argument("--port", type=int, default=8420, help="0: any free port")
    parser.add_argument("--policy", choices=["strict", "inclusive"], default="strict")
    parser.add_argument("--no-fence", action="store_true", help="accept every write, as without tokens")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    lock, storage = Lock(options.data), Storage(options.data, options.policy, fenced=not options.no_fence)
    for side, names in (
        (lock, ("acquire", "renew", "release")),
        (storage, ("write", "read", "fence", "commits")),
    ):
        Handler.calls.update({f"/{name}": getattr(side, name) for name in names})
    server = Server(("127.0.0.1", options.port), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    print(f"listening on {address}", flush=True)  # noqa: T201 - a supervisor waits for this line
    server.serve_forever()


if __name__ == "__main__":
    main()
