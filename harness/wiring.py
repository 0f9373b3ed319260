"""From a target and the servers that run for it to what each part must be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.client_process import ClientTask
from harness.engines import Cluster, ServerSpec, Topology
from harness.target import FaultSpec, PartitionSpec, Target
from workloads.locks import LockSettings
from workloads.storages import StorageSettings

SECOND = 1_000_000_000  # ns
CALL_TIMEOUT = 1.0  # seconds; of every call that a client makes
SETTING_UP = 10.0  # seconds; of every call that the harness makes itself


def topology(target: Target, faults: Sequence[FaultSpec]) -> Topology:
    """Give the servers and edges that a target needs."""
    lock, storage = target.lock, target.storage
    members = tuple(
        ServerSpec(name=f"{lock.kind}-{number + 1}", system=lock.kind, image=lock.image)
        for number in range(lock.nodes)
    )
    return Topology(
        servers=(*members, ServerSpec(name=storage.kind, system=storage.kind, image=storage.image)),
        clients=target.workload.clients,
        partitions=any(isinstance(fault, PartitionSpec) for fault in faults),
    )


def listing(topology: Topology) -> str:
    """Name the servers, for a reader."""
    return ", ".join(server.name for server in topology.servers)


def work(target: Target) -> str:
    """Tell the work, for a reader."""
    workload = target.workload
    return f"{workload.kind}: {workload.clients} clients, {workload.resources} resources"


def resources(target: Target) -> tuple[str, ...]:
    """Name what is locked and written."""
    return tuple(f"r{number}" for number in range(target.workload.resources))


def header(target: Target, seed: int) -> dict[str, Any]:
    """Give the first line of the history: all that judging it needs."""
    return {
        "fencepost": 1,
        "target": target.name,
        "seed": seed,
        "fenced": target.fenced,
        "policy": target.storage.policy,
        "ttl": target.lock.ttl,
        "initial": {"value": None, "token": 0},
        "expect": list(target.expected),
        "may": list(target.may),
        "require": dict(target.require),
        "clients": target.workload.clients,
    }


def storage_of(target: Target, cluster: Cluster) -> StorageSettings:
    """Where the harness itself reaches the storage: past every proxy."""
    (server,) = (each for each in cluster.servers if each.name == target.storage.kind)
    return StorageSettings(
        kind=target.storage.kind,
        host=server.address.host,
        port=server.address.port,
        fencing=target.storage.fencing,
        policy=target.storage.policy,
        timeout=SETTING_UP,
    )


def task(target: Target, cluster: Cluster, seed: int, client: int) -> ClientTask:
    """Tell one client what to do, and where its own edges lead."""
    members = [server.name for server in cluster.servers if server.system == target.lock.kind]
    edge = cluster.edge(client, target.storage.kind)
    most = target.most_writes
    think = target.workload.think / SECOND
    return ClientTask(
        seed=seed,
        resources=resources(target),
        writes=(1, most),
        think=(think / 10, think),
        lock=LockSettings(
            kind=target.lock.kind,
            endpoints=tuple(str(cluster.edge(client, member)) for member in members),
            ttl=target.lock.ttl,
            timeout=CALL_TIMEOUT,
            client=client,
        ),
        storage=StorageSettings(
            kind=target.storage.kind,
            host=edge.host,
            port=edge.port,
            fencing=target.storage.fencing,
            policy=target.storage.policy,
            timeout=CALL_TIMEOUT,
        ),
    )
