"""Locks and storages of each kind on the servers of the local engine, for tests that hold for all of them."""

from __future__ import annotations

from harness.engines import Cluster
from workloads.settings import LockSettings, StorageSettings

SECOND = 1_000_000_000
TTL = 2 * SECOND


class Memory:
    """A recorder that keeps its events."""

    def __init__(self):
        self.events = []

    def record(self, event):
        self.events.append(event)

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]


def lock_settings(
    kind: str, endpoints, *, client: int = 0, timeout: float = 1.0, token: str = ""
) -> LockSettings:
    return LockSettings(
        kind=kind, endpoints=tuple(endpoints), ttl=TTL, timeout=timeout, client=client, token=token
    )


def storage_settings(
    kind: str, endpoints, *, fencing: str = "none", policy: str = "strict", timeout: float = 1.0
) -> StorageSettings:
    return StorageSettings(
        kind=kind, endpoints=tuple(endpoints), fencing=fencing, policy=policy, timeout=timeout
    )


def endpoints(cluster: Cluster, system: str) -> list[str]:
    return [str(server.address) for server in cluster.servers if server.system == system]
