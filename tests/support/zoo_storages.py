"""Storages of the zoo on real servers, and calls of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from harness.engines.engine import Cluster
from harness.spec import load
from harness.spec.reading import shipped_folder
from tests.support.stopped import frozen
from tests.support.systems import commits_of, endpoints, nothing, storage_settings
from workloads.client import NotApplied, Unknown
from workloads.settings import StorageSettings
from workloads.storages import load_kind, postgres, redis

DEADLINE = 120.0  # seconds
RESOURCE = "r0"
SERVERS = {"postgres": "postgres", "redis": "redis-storage"}
AS_NEW = (
    "DROP TABLE IF EXISTS register, audit, fence",
    "ALTER DATABASE fencepost RESET ALL",
    "ALTER SYSTEM RESET ALL",
    "SELECT pg_reload_conf()",
)


class Exhibit:
    """The storage of a target in the zoo, newly set up."""

    def __init__(self, name: Any, cluster: Cluster) -> None:
        self.spec = load(shipped_folder() / "zoo" / f"{name}.toml").storage
        self.cluster = cluster
        self._opened: list[Any] = []
        EMPTY[self.spec.system](self.settings())
        load_kind(self.spec.kind).set_up(self.settings(), [RESOURCE])

    def settings(self, at: None = None, timeout: float = 5.0) -> StorageSettings:
        return storage_settings(
            self.spec.kind,
            at or endpoints(self.cluster, self.spec.system),
            fencing=self.spec.fencing,
            policy=self.spec.policy,
            timeout=timeout,
        )

    def open(self, **settings: Any) -> Any:
        self._opened.append(load_kind(self.spec.kind).connect(self.settings(**settings)))
        return self._opened[-1]

    @property
    def committed(self) -> list[tuple[Any, Any]]:
        return commits_of(self.spec.kind, endpoints(self.cluster, self.spec.system), RESOURCE)

    def stopped(self) -> Any:
        return frozen(self.cluster, SERVERS[self.spec.system])

    def restart(self) -> None:
        servers = [SERVERS[self.spec.system]]
        self.cluster.kill(servers)
        self.cluster.restart(servers)

    def close(self) -> None:
        for storage in self._opened:
            storage.reconnect()


def empty_postgres(settings: Any) -> None:
    with closing(postgres.make_connection(settings)) as wire:
        for statement in AS_NEW:
            wire.execute(statement)


def empty_redis(settings: Any) -> None:
    with closing(redis.connection(settings)) as connection:
        connection.execute("FLUSHALL")


EMPTY = {"postgres": empty_postgres, "redis": empty_redis}


def outcome(storage: Any, token: int, value: str, sent: Callable[[], None] = nothing) -> Any:
    """Write, and return the outcome."""
    try:
        storage.write(RESOURCE, token, value, sent)
    except (NotApplied, Unknown) as error:
        return type(error)
    return "ok"


def asked(case: Any, what: str) -> list[tuple[bytes | None, ...]]:
    with closing(postgres.make_connection(case.settings())) as wire:
        return wire.execute(f"SELECT 1 {what}")
