"""A client program over SlateDB: the writer of a database in an object store, fenced by its epoch.

Opening a database as its next writer raises the epoch, which is the fencing token, and fences the
writer before. A lease decides who may open it: a file, in place of the service that elects yours.
The program speaks the line protocol of docs/adapters.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slatedb import uniffi as slatedb

Fields = dict[str, Any]
BUCKET = "fencepost"
REGISTER = b"register"
LOG = slatedb.KeyRange(start=b"log/", start_inclusive=True, end=b"log0", end_inclusive=False)
"""Keys of the log: one for each write, in the same batch."""
FLUSH = slatedb.FlushOptions(flush_type=slatedb.FlushType.MEM_TABLE)
LOOP = asyncio.new_event_loop()


class FailedError(Exception):
    """The request certainly had no effect, and never will."""


class StaleError(Exception):
    """The fence refused the write."""


class Lease:
    """Who may open the database of a resource: an owner, and when its lease ends, in a file under flock."""

    def __init__(self, folder: Path, resource: str, ttl: int) -> None:
        self._file = folder / resource
        self._ttl = ttl  # ns

    def take(self, owner: str) -> bool:
        """Take it if it is free or over; it is never renewed."""
        with self._content() as lease:
            if lease.get("until", 0) > time.monotonic_ns():
                return False
            lease.update(owner=owner, until=time.monotonic_ns() + self._ttl)
            return True

    def is_held_by(self, owner: str) -> bool:
        """Has this owner a lease that is not over?"""
        with self._content() as lease:
            return is_held(lease, owner)

    def give_back(self, owner: str) -> bool:
        """End the lease of this owner; false if it has none."""
        with self._content() as lease:
            if held := is_held(lease, owner):
                lease["until"] = 0
            return held

    @contextmanager
    def _content(self) -> Iterator[Fields]:
        with self._file.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            found = json.loads(file.read() or "{}")
            yield found
            file.truncate(0)
            file.write(json.dumps(found))


class Writer:
    """The lock and the register of each resource: a database, opened by its holder."""

    def __init__(self, start: Fields) -> None:
        self._timeout = start["timeout_ms"] / 1000
        self._ttl_ms = start["lock"]["ttl_ms"]
        self._run = start["run"]
        self._leases = Path(tempfile.gettempdir()) / f"leases-{self._run}"
        self._leases.mkdir(exist_ok=True)
        address = start["lock"]["endpoints"][0]
        os.environ |= {
            "AWS_ENDPOINT": f"http://{address}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        self._store = slatedb.ObjectStore.resolve(f"s3://{BUCKET}/")
        self._database: slatedb.Db | None = None  # of the held lock

    def acquire(self, request: Fields) -> Fields:
        """Poll until the lease is free, then open the database; the lease counts from its own start."""
        resource, owner = request["resource"], request["owner"]
        lease, deadline = self._lease(resource), time.monotonic() + request["wait_ms"] / 1000
        while time.monotonic() < deadline:
            attempt = time.monotonic_ns()
            if lease.take(owner):
                say(id=request["id"], event="granted", wait=True)
                sys.stdin.readline()  # the line "go-on"
                if (epoch := self._open(resource, owner)) is not None:
                    return {"token": epoch, "ttl_ms": self._ttl_ms, "attempt_ns": attempt}
                lease.give_back(owner)
            time.sleep(0.02)
        raise FailedError("not free in time")

    def _open(self, resource: str, owner: str) -> int | None:
        """Open the database as its next writer, and return the epoch; None if the lease is lost.

        SlateDB does not say which epoch an open database has. If it rose by one, it was by this opening; else
        this opening is given up, too.
        """
        lease = self._lease(resource)
        before = self._epoch(resource)
        if not lease.is_held_by(owner):
            return None  # opening would fence the holder
        builder = slatedb.DbBuilder(self._path(resource), self._store)
        builder.with_settings(settings())
        database = self._ended(builder.build())
        epoch = self._epoch(resource)
        if epoch != before + 1 or not lease.is_held_by(owner):
            return None
        self._database = database
        return epoch

    def _epoch(self, resource: str) -> int:
        admin = slatedb.AdminBuilder(self._path(resource), self._store).build()
        manifest = self._ended(admin.read_manifest(None))
        return manifest.writer_epoch if manifest else 0

    def release(self, request: Fields) -> Fields:
        """Flush and close the database, so that the next writer replays nothing, and end the lease."""
        lease, owner = self._lease(request["resource"]), request["owner"]
        database, self._database = self._database, None
        if database is not None and lease.is_held_by(owner):
            with suppress(slatedb.Error, TimeoutError):  # then the next writer replays the write-ahead log
                self._ended(closed(database))
        if not lease.give_back(owner):
            raise FailedError("not the holder")
        return {}

    def revoke(self, request: Fields) -> Fields:
        """End the lease of an acquire without an answer, if it has one."""
        self._database = None
        self._lease(request["resource"]).give_back(request["owner"])
        return {}

    def stop(self, request: Fields) -> Fields:
        """Release the lock if we hold one; we end with our standard input."""
        return {} if request["owner"] is None else self.release(request)

    def reconnect(self, _request: Fields) -> Fields:
        """Give up the database: only an acquire may open it, because that fences others."""
        self._database = None
        return {}

    def write(self, request: Fields) -> Fields:
        """Write the value, and a line of the log, in one batch; SlateDB answers when it is durable."""
        value, token = request["value"], request["token"]
        batch = slatedb.WriteBatch()
        batch.put(REGISTER, json.dumps({"value": value, "token": token}).encode())
        batch.put(f"log/{value}".encode(), str(token).encode())
        try:
            self._ended(self._opened().write(batch))
        except slatedb.Error.Closed as error:
            if error.reason != slatedb.CloseReason.FENCED:
                raise
            self._refused(request)
        return {}

    def _refused(self, request: Fields) -> None:
        """Is a write that SlateDB has fenced stale? Only a newer one shows that it never takes effect."""
        rows = self._log(request["resource"])
        tokens = {value: token for _, value, token in rows}
        if request["value"] in tokens or max(tokens.values(), default=0) <= request["token"]:
            raise RuntimeError("fenced, but nobody has written since")
        raise StaleError

    def read(self, _request: Fields) -> Fields:
        """Return the value and the token of the last write, as the writer knows them."""
        found = self._ended(self._opened().get(REGISTER))
        return json.loads(found) if found else {"value": None, "token": 0}

    def _opened(self) -> slatedb.Db:
        if self._database is None:
            raise FailedError("the database is not open")
        return self._database

    def committed(self, request: Fields) -> Fields:
        """Report the writes that each database contains, by the sequence numbers that SlateDB gave them."""
        for lease in sorted(self._leases.iterdir()):
            for _, value, token in self._log(lease.name):
                say(id=request["id"], event="commit", resource=lease.name, token=token, value=value)
            lease.unlink()
        self._leases.rmdir()
        return {}

    def _log(self, resource: str) -> list[tuple[int, str, int]]:
        """Read the sequence number, value and token of each write from the object store, in their order."""
        return sorted(self._ended(log(slatedb.DbReaderBuilder(self._path(resource), self._store))))

    def _lease(self, resource: str) -> Lease:
        return Lease(self._leases, resource, self._ttl_ms * 1_000_000)

    def _path(self, resource: str) -> str:
        return f"{self._run}/{resource}"

    def _ended(self, call: Awaitable[Any]) -> Any:
        """Wait for a call to end, for at most the timeout."""
        return LOOP.run_until_complete(asyncio.wait_for(call, self._timeout))


def is_held(lease: Fields, owner: str) -> bool:
    """Has this owner the lease, and is it not over?"""
    return lease.get("owner") == owner and lease["until"] > time.monotonic_ns()


def settings() -> slatedb.Settings:
    """SlateDB's defaults, but its times: minutes become seconds, so that a run is short.

    A writer polls the manifest, in which it would see that it is fenced, each 30 s (default: 1 s).
    The write-ahead log is deleted when it is 1 s old (default: 300 s) and no longer needed, each
    second (default: 60 s), and as soon as a database is opened.
    """
    found = json.loads(slatedb.Settings.default().to_json_string())
    found["manifest_poll_interval"] = found["compactor_options"]["poll_interval"] = "30s"
    found["garbage_collector_options"]["wal_options"] |= {"interval": "1s", "min_age": "1s"}
    return slatedb.Settings.from_json_string(json.dumps(found))


async def closed(database: slatedb.Db) -> None:
    """Move everything from the write-ahead log to the tree, and close."""
    await database.flush_with_options(FLUSH)
    await database.shutdown()


async def log(builder: slatedb.DbReaderBuilder) -> list[tuple[int, str, int]]:
    """Return the lines of a database's log: their sequence number, value and token."""
    reader = await builder.build()
    rows = await reader.scan(LOG)
    lines = []
    while (row := await rows.next()) is not None:
        lines.append((row.seq, row.key.decode().removeprefix("log/"), int(row.value)))
    await reader.shutdown()
    return lines


def answer(writer: Writer, request: Fields) -> Fields:
    """Execute a request and return its outcome; if in doubt, unknown."""
    operations: dict[str, Callable[[Fields], Fields]] = {
        "acquire": writer.acquire,
        "release": writer.release,
        "revoke": writer.revoke,
        "stop": writer.stop,
        "write": writer.write,
        "read": writer.read,
        "reconnect": writer.reconnect,
        "committed": writer.committed,
    }
    if request["op"] not in operations:
        return {"outcome": "unsupported"}
    try:
        return {"outcome": "ok", **operations[request["op"]](request)}
    except StaleError:
        return {"outcome": "stale"}
    except FailedError as error:
        return {"outcome": "failed", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 - a timeout, for example: it may have taken effect
        return {"outcome": "unknown", "reason": repr(error)}


def main() -> None:
    """Answer requests until standard input ends."""
    start = json.loads(sys.stdin.readline())
    writer = Writer(start)
    say(id=start["id"], outcome="ok", stop=True, versions={"slatedb": version("slatedb")})
    for line in sys.stdin:
        request = json.loads(line)
        say(id=request["id"], **answer(writer, request))


def say(**fields: Any) -> None:
    """Write one line."""
    print(json.dumps(fields), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()
