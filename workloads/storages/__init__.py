"""Storages, by the name that targets give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checkers.history import Commit
from workloads.client import Storage
from workloads.storages import postgres
from workloads.storages.postgres_wire import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Where a client finds its storage, and how that keeps stale writers out."""

    kind: str
    host: str
    port: int
    fencing: str
    policy: str
    timeout: float  # seconds; of each call


@dataclass(frozen=True, slots=True)
class StorageKind:
    """What a kind of storage can do: serve a client, be set up, and tell its committed order."""

    connect: Callable[[StorageSettings], Storage]
    set_up: Callable[[StorageSettings, list[str]], None]
    committed: Callable[[StorageSettings], list[Commit]]


def _wire(settings: StorageSettings) -> Wire:
    return Wire(postgres.conninfo(settings.host, settings.port), settings.timeout)


def _connect_postgres(settings: StorageSettings) -> Storage:
    return postgres.PostgresStorage(_wire(settings), settings.fencing, settings.policy)


def _set_up_postgres(settings: StorageSettings, resources: list[str]) -> None:
    wire = _wire(settings)
    postgres.set_up(wire, resources, settings.fencing)
    wire.close()


def _committed_postgres(settings: StorageSettings) -> list[Commit]:
    wire = _wire(settings)
    commits = list(postgres.committed(wire))
    wire.close()
    return commits


STORAGES: dict[str, StorageKind] = {
    "postgres": StorageKind(_connect_postgres, _set_up_postgres, _committed_postgres)
}


def connect(settings: StorageSettings) -> Storage:
    """Make a client of the storage."""
    return STORAGES[settings.kind].connect(settings)


def set_up(settings: StorageSettings, resources: list[str]) -> None:
    """Make what the storage needs before the first write."""
    STORAGES[settings.kind].set_up(settings, resources)


def committed(settings: StorageSettings) -> list[Commit]:
    """Read the order in which the storage accepted the writes."""
    return STORAGES[settings.kind].committed(settings)
