"""Writes and reads over the clients' edges to PostgreSQL servers of which one may replace another."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from harness.engines.engine import Cluster
from harness.network.topology import Address
from tests.support.systems import endpoint_of, storage_settings
from workloads.settings import StorageSettings
from workloads.storages import postgres


def settings(*addresses: Address) -> StorageSettings:
    return storage_settings(
        "postgres", [endpoint_of(each) for each in addresses], fencing="conditional-update"
    )


def address(cluster: Cluster, name: str) -> Address:
    return next(server.address for server in cluster.servers if server.name == name)


def write(cluster: Cluster, token: int, *, client: int = 0, timeout: float = 10.0) -> None:
    """Write the value w<token> over a client's edge to the primary."""
    at = replace(settings(cluster.edge(client, "postgres")), timeout=timeout)
    with closing(postgres.make_connection(at)) as connection:
        register = postgres.PostgresStorage(connection, "conditional-update", "strict")
        register.write("r0", token, f"w{token}", lambda: None)


def read(cluster: Cluster, client: int = 0) -> str | None:
    """Read over a client's edge to the primary."""
    with closing(postgres.make_connection(settings(cluster.edge(client, "postgres")))) as connection:
        return postgres.PostgresStorage(connection, "conditional-update", "strict").read("r0")[0]


def surviving(cluster: Cluster) -> list[Any]:
    """Return the accepted writes as a run reads them at its end."""
    both = (address(cluster, "postgres"), address(cluster, "postgres-standby"))
    return [commit.value for commit in postgres.committed(settings(*both))]
