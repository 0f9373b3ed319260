"""Client processes that hold a lock of their own each, and write for as long as a file says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.clients import pool
from harness.clients.pool import ClientPool
from harness.clients.process import ClientTask
from tests.support.systems import lock_settings, storage_settings
from workloads.client import Grant
from workloads.run import Schedule

HERE = "tests.support.writing_clients"
BUSY = "writing"  # a file; while it exists, no write returns
_POLL = 0.002  # s


class OwnLock:
    """A lock that this client alone asks for."""

    def __init__(self, _settings: Any, _session: Any) -> None:
        self._token = time.monotonic_ns()

    def acquire(self, _resource: str, _owner: str) -> Grant:
        self._token += 1
        return Grant(token=self._token, ttl=None, attempt=None)

    def release(self, resource: str, owner: str) -> None:
        pass

    def revoke(self, resource: str, owner: str) -> None:
        pass

    def reconnect(self) -> None:
        pass

    def close(self) -> None:
        pass


class BusyStorage:
    """A storage that answers no write while the file exists."""

    def __init__(self, settings: Any) -> None:
        (self._busy,) = map(Path, settings.endpoints)

    def write(self, _resource: str, _token: int, _value: str, sent: Callable[[], None]) -> None:
        sent()
        while self._busy.exists():
            time.sleep(_POLL)

    def read(self, _resource: str) -> tuple[None, int]:
        return None, -1

    def reconnect(self) -> None:
        pass


def task(folder: Path) -> ClientTask:
    """Return what each of them is to do."""
    return ClientTask(
        seed=1,
        resources=("r0",),
        places=("r0",),
        workload="register",
        schedule=Schedule(every=1, duration=1),
        most_writes=1,
        think_time=(0.001, 0.002),
        lock=lock_settings(f"{HERE}:OwnLock", []),
        storage=storage_settings(f"{HERE}:BusyStorage", [str(folder / BUSY)]),
    )


@contextmanager
def writing_clients(count: int, folder: Path) -> Iterator[ClientPool]:
    """Start them; their first write does not return."""
    (folder / BUSY).touch()
    with pool.started(count, 1, 1, folder) as clients:
        clients.get_ready(lambda _client: task(folder))
        clients.state.run.started = time.monotonic_ns()
        yield clients


def recorded_by(client: int, folder: Path) -> list[dict[str, Any]]:
    """Return the events that a client has recorded."""
    text = (folder / "events" / f"client-{client}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]
