"""The systems that the local engine starts, and what it can never do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.engines import local_etcd, local_postgres, local_redis, local_zookeeper
from harness.network.members import MEMBERS
from harness.network.topology import Server, Topology
from harness.processes.supervisor import Supervisor

STARTERS: dict[str, Callable[[Sequence[Server], Supervisor], None]] = {
    "etcd": local_etcd.start,  # first, because electing a leader takes longest
    "postgres": local_postgres.start,
    "redis": local_redis.start,
    "zookeeper": local_zookeeper.start,
}
SOURCES = {source.system: source for source in (local_etcd.SOURCE, local_postgres.SOURCE, local_redis.SOURCE)}
WITH_PASSWORD = {"postgres", "redis"}
USE_DOCKER = "use Docker (run with --engine docker where a Docker engine answers, outside Fencepost's image)"
CLOCKS_NEED_DOCKER = f"the local engine cannot move the clock of a server: {USE_DOCKER}"
SPLITS_NEED_DOCKER = (
    "the local engine cannot cut the members of a cluster off from each other, because they share one "
    f"loopback address: {USE_DOCKER}"
)


def never(topology: Topology) -> str | None:
    """Say why no machine's local engine can run the topology; None if some machine's can."""
    for spec in topology.servers:
        if spec.system not in STARTERS:
            return f"the local engine has no {spec.system}, only {', '.join(STARTERS)}: {USE_DOCKER}"
        if spec.manager:
            return f"the local engine has no {spec.manager.title()}, which runs {spec.name}: {USE_DOCKER}"
        if spec.image is not None:
            return f"the local engine runs no images, and {spec.name} is {spec.image}: {USE_DOCKER}"
        if spec.release:
            return f"the local engine builds no servers, and {spec.name} is {spec.release}: {USE_DOCKER}"
    if MEMBERS.keys() & {spec.system for spec in topology.servers if spec.name in topology.split}:
        return SPLITS_NEED_DOCKER
    return CLOCKS_NEED_DOCKER if topology.clocks else None
