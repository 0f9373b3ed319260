"""Your own lock and fenced storage: files that every client opens, protected by flock.

This is the simplest possible target: no servers, no libraries. The lease expires, as in any
lock service, so its holder can lose it without noticing.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fencepost import Commit, Grant, LockSettings, NotApplied, Session, Stale, StorageSettings

FOLDER = Path("files-of-the-example")


class FileLock:
    """A file with the lock's holder, and the time at which the lease ends."""

    def __init__(self, settings: LockSettings, session: Session) -> None:
        self._ttl = settings.ttl  # ns; it is never renewed

    def acquire(self, resource: str, owner: str) -> Grant:
        """Poll for at most three leases."""
        deadline = time.monotonic_ns() + 3 * self._ttl
        while time.monotonic_ns() < deadline:
            attempt = time.monotonic_ns()
            with content(f"lock-{resource}") as lock:
                if lock.get("until", 0) < time.monotonic_ns():
                    token = lock.get("token", 0) + 1
                    lock.update(owner=owner, token=token, until=time.monotonic_ns() + self._ttl)
                    return Grant(token=token, ttl=self._ttl, attempt=attempt)
            time.sleep(0.01)
        raise NotApplied("not free in time")

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if the owner still holds it."""
        with content(f"lock-{resource}") as lock:
            if lock.get("owner") != owner or lock["until"] < time.monotonic_ns():
                raise NotApplied("not the holder")
            lock["until"] = 0

    def revoke(self, resource: str, owner: str) -> None:
        """Not needed: a file's answer cannot get lost."""

    def reconnect(self) -> None:
        """Nothing is connected."""

    def close(self) -> None:
        """Nothing is open."""


class FileStorage:
    """The value, the mark and the list of accepted writes in one file."""

    def __init__(self, settings: StorageSettings) -> None:
        self._fenced = settings.fencing != "none"

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Compare and write, with the file locked."""
        with content(f"register-{resource}") as register:
            if self._fenced and token <= register.get("token", 0):
                raise Stale
            register.update(token=token, value=value)
            register.setdefault("accepted", []).append([time.monotonic_ns(), token, value])
        sent()

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write."""
        with content(f"register-{resource}") as register:
            return register.get("value"), register.get("token", 0)

    def reconnect(self) -> None:
        """Nothing is connected."""

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Delete the data of the previous run."""
        FOLDER.mkdir(exist_ok=True)
        for file in FOLDER.iterdir():
            file.unlink()

    @staticmethod
    def committed(settings: StorageSettings) -> Iterator[Commit]:
        """Yield the accepted writes in order."""
        for file in sorted(FOLDER.glob("register-*")):
            resource = file.name.removeprefix("register-")
            for seq, (_, token, value) in enumerate(json.loads(file.read_text())["accepted"], 1):
                yield Commit(seq=seq, resource=resource, token=token, value=value)


@contextmanager
def content(name: str) -> Iterator[dict[str, Any]]:
    """Lock a file, and yield its content to be read and changed."""
    with (FOLDER / name).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = json.loads(file.read() or "{}")
        yield found
        file.truncate(0)
        file.write(json.dumps(found))
