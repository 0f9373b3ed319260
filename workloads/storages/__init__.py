"""Storages, by the name that targets give them.

Each is a module with three functions: `connect` makes a client, `set_up` makes what
the storage needs before the first write, and `committed` reads the order in which it
accepted the writes. It is imported by those who call one.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from checkers.history import Commit
from workloads.client import Storage
from workloads.own import OwnStorage
from workloads.settings import StorageSettings

STORAGES = {
    "dynamodb": "workloads.storages.dynamodb",
    "etcd": "workloads.storages.etcd",
    "http": "workloads.storages.http",
    "postgres": "workloads.storages.postgres",
    "redis": "workloads.storages.redis",
    "sqlite": "workloads.storages.sqlite",
    "zookeeper": "workloads.storages.zookeeper",
}
"""The module of each kind."""

WITH_AN_ORDER = STORAGES.keys() - {"http"}
"""Those that always know the order in which they accepted the writes; a service may know its own."""


class StorageKind(Protocol):
    """What each of those modules has."""

    def connect(self, settings: StorageSettings) -> Storage:
        """Make a client."""

    def set_up(self, settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make what is needed before the first write."""

    def committed(self, settings: StorageSettings) -> list[Commit] | None:
        """Read the order in which the storage accepted the writes; None if it cannot tell."""


def of_kind(kind: str) -> StorageKind:
    """Import the module of a kind."""
    if ":" in kind:
        return OwnStorage(kind)
    module: StorageKind = import_module(STORAGES[kind])
    return module
