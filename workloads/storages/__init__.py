"""Storages, by the kind that targets name.

Each is a module with three functions: `connect` makes a client, `set_up` prepares the
storage for the first write, and `committed` reads the order in which it accepted the
writes. It is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Protocol

from checkers.history.records import Commit
from workloads.client import Storage
from workloads.custom_class import CustomStorage
from workloads.settings import StorageSettings

STORAGES = {
    "dynamodb": "workloads.storages.dynamodb",
    "etcd": "workloads.storages.etcd",
    "http": "workloads.storages.http",
    "mariadb": "workloads.storages.mariadb",
    "postgres": "workloads.storages.postgres",
    "redis": "workloads.storages.redis",
    "s3": "workloads.storages.s3",
    "sqlite": "workloads.storages.sqlite",
    "zookeeper": "workloads.storages.zookeeper",
}
"""The module of each kind."""

REMOVABLE = STORAGES.keys() - {"http", "sqlite"}
"""Kinds whose servers a run may leave as it found them: their modules have `remove(settings)` too,
which deletes everything under the run's names, and returns how much that was."""

WITH_TRIAL = REMOVABLE - {"dynamodb"}
"""Kinds that can be set up, used and removed within a moment; AWS takes seconds for a table."""

WITH_LOG = frozenset({"mariadb", "postgres", "redis", "sqlite", "zookeeper"})
"""Kinds that log each accepted write themselves, unless `settings.logged` is false."""

WITH_SHARED_CONNECTION = STORAGES.keys() - {"http"}
"""Kinds whose clients have `sharing(settings)`: a client with other settings on the same connection."""

WITH_COMMIT_ORDER = STORAGES.keys() - {"http"}
"""Kinds that always know the order in which they accepted the writes; an HTTP service may know it."""


class StorageKind(Protocol):
    """The functions of each of these modules."""

    def connect(self, settings: StorageSettings) -> Storage:
        """Make a client."""

    def set_up(self, settings: StorageSettings, resources: Sequence[str]) -> None:
        """Prepare for the first write."""

    def committed(self, settings: StorageSettings) -> Iterable[Commit] | None:
        """Read the order in which the storage accepted the writes, page by page; None if it does not know.

        A page, and what it collects, has a limit; the caller limits the whole.
        """


def load_kind(kind: str) -> StorageKind:
    """Import the module of a kind."""
    if ":" in kind:
        return CustomStorage(kind)
    module: StorageKind = import_module(STORAGES[kind])
    return module


def remove(settings: StorageSettings) -> int:
    """Delete everything under the names of a run, and return how much there was, for a `REMOVABLE` kind."""
    return int(import_module(STORAGES[settings.kind]).remove(settings))
