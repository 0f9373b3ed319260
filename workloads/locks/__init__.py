"""Lock services, by the kind that targets name.

Each is a module with one function, `connect(settings, renewals)`. It is imported on
first use: not every run needs every system's library.
"""

from __future__ import annotations

from importlib import import_module

from workloads import custom_class
from workloads.client import Lock, Session
from workloads.settings import LockSettings

LOCKS = {
    "etcd": "workloads.locks.etcd",
    "etcd-lock": "workloads.locks.etcd_lock_service",
    "get-lock": "workloads.locks.get_lock",
    "http": "workloads.locks.http",
    "kahuna": "workloads.locks.kahuna",
    "nats": "workloads.locks.nats",
    "redis": "workloads.locks.redis",
    "redlock": "workloads.locks.redlock",
    "s3": "workloads.locks.s3",
    "sql-lease": "workloads.locks.sql_lease",
    "zookeeper": "workloads.locks.zookeeper",
}
"""The module of each kind."""


PREPARED = frozenset({"nats"})
"""Kinds whose modules have `set_up(settings)` too, which makes what all clients of a run need."""

REMOVABLE = LOCKS.keys() - {"http", "kahuna"}
"""Kinds whose servers a run may leave as it found them: their modules have `remove(settings)` too,
which deletes everything under the run's names, and returns how much that was."""


def connect(settings: LockSettings, renewals: Session) -> Lock:
    """Make a client; background work such as keep-alives is recorded in `renewals`."""
    if ":" in settings.kind:
        return custom_class.connect_lock(settings, renewals)
    lock: Lock = import_module(LOCKS[settings.kind]).connect(settings, renewals)
    return lock


def set_up(settings: LockSettings) -> None:
    """Make what the clients of a run need; NotApplied or Unknown if that fails."""
    if settings.kind in PREPARED:
        import_module(LOCKS[settings.kind]).set_up(settings)


def remove(settings: LockSettings) -> int:
    """Delete everything under the names of a run, and return how much there was, for a `REMOVABLE` kind."""
    return int(import_module(LOCKS[settings.kind]).remove(settings))
