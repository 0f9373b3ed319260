"""From the words of a target file to the servers that a fault hits, and to what it is called."""

from __future__ import annotations

import pytest

from harness.nemesis.aiming import Aim
from harness.network.topology import Edge
from harness.target import ClockSpec, KillSpec, PartitionSpec, PauseSpec
from harness.target.aims import recorded_target, servers_hit

SIDES = {"lock": ("redis-1", "redis-2"), "storage": ("postgres",)}
AIM = Aim(cluster=None, sides=SIDES, clients=2)


def kill(target):
    return KillSpec(kind="kill", target=target, every="8s", lasts="1s")


def partition(side):
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
def test_a_fault_hits_the_servers_that_it_names(fault, servers):
    assert servers_hit(fault, SIDES) == servers


def test_the_history_says_of_which_side_a_server_is():
    assert recorded_target(kill("lock"), SIDES) == "lock"
    assert recorded_target(kill("redis-2"), SIDES) == "lock:redis-2"
    assert recorded_target(kill("postgres"), SIDES) == "storage:postgres"


def test_a_kill_needs_the_server_and_every_way_to_it_a_partition_one_way_a_clock_the_server():
    clock = ClockSpec(kind="clock", target="redis-2", jump="1h", every="8s", lasts="1s")

    assert AIM.needs(kill("redis-2")) == {"redis-2", Edge(0, "redis-2"), Edge(1, "redis-2")}
    assert AIM.needs(partition(("redis-2",)), 0) == {Edge(0, "redis-2")}
    assert AIM.needs(clock) == {"redis-2"}
