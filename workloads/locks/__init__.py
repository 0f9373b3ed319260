"""Lock services, by the name that targets give them.

Each is a module with one function, `connect(settings, renewals)`. It is imported
by those who connect: not every run needs every system's library.
"""

from __future__ import annotations

from importlib import import_module

from workloads import own
from workloads.client import Lock, Session
from workloads.settings import LockSettings

LOCKS = {
    "etcd": "workloads.locks.etcd",
    "etcd-lock": "workloads.locks.etcd_service",
    "http": "workloads.locks.http",
    "kahuna": "workloads.locks.kahuna",
    "redis": "workloads.locks.redis",
    "redlock": "workloads.locks.redlock",
    "zookeeper": "workloads.locks.zookeeper",
}
"""The module of each kind."""


def connect(settings: LockSettings, renewals: Session) -> Lock:
    """Make a client; what it does beside its calls, such as keep-alives, is recorded in `renewals`."""
    if ":" in settings.kind:
        return own.connect_lock(settings, renewals)
    lock: Lock = import_module(LOCKS[settings.kind]).connect(settings, renewals)
    return lock
