"""The servers that a fault in a target file hits, and its name in the history."""

from __future__ import annotations

from typing import Any

import pytest

from harness.nemesis.clock import ClockSpec
from harness.nemesis.kill import KillSpec
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.reach import FaultReach, recorded_target, servers_hit
from harness.network.topology import NetworkEdge

SIDES = {"lock": ("redis-1", "redis-2"), "storage": ("postgres",)}
REACH = FaultReach(cluster=None, sides=SIDES, processes=(None, None))


def kill(target: Any) -> KillSpec:
    return KillSpec(kind="kill", target=target, every="8s", lasts="1s")


def partition(side: str | tuple[str, ...]) -> PartitionSpec:
    words = {"kind": "partition", "target": "client:0", "from": side, "every": "8s", "lasts": "1s"}
    return PartitionSpec.model_validate(words)


@pytest.mark.parametrize(
    ("fault", "servers"),
    [
        (kill("lock"), ("redis-1", "redis-2")),
        (kill("storage"), ("postgres",)),
        (kill("redis-2"), ("redis-2",)),
        (partition("both"), ("redis-1", "redis-2", "postgres")),
        (partition("storage"), ("postgres",)),
        (partition(("redis-2", "postgres")), ("redis-2", "postgres")),
        (PauseSpec(kind="pause", target="holder", every="3s", lasts="1s"), ()),
    ],
)
def test_a_fault_hits_the_servers_that_it_names(fault: Any, servers: Any) -> None:
    assert servers_hit(fault.aim(), SIDES) == servers


def test_the_history_names_the_side_of_a_server() -> None:
    assert recorded_target("lock", SIDES) == "lock"
    assert recorded_target("redis-2", SIDES) == "lock:redis-2"
    assert recorded_target("postgres", SIDES) == "storage:postgres"


def test_each_fault_reserves_its_servers_and_edges() -> None:
    clock = ClockSpec(kind="clock", target="redis-2", jump="1h", every="8s", lasts="1s")

    assert kill("redis-2").needs(REACH) == {"redis-2", NetworkEdge(0, "redis-2"), NetworkEdge(1, "redis-2")}
    assert partition(("redis-2",)).needs(REACH, 0) == {NetworkEdge(0, "redis-2")}
    assert clock.needs(REACH) == {"redis-2"}
