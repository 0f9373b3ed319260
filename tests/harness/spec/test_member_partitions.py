"""Partitions between members in target files: valid ones, and those that are refused in one sentence."""

from __future__ import annotations

import pytest

from harness.engines.local_systems import never
from harness.nemesis.faults import hits_servers
from harness.network.members import member_links
from harness.run import deployment
from tests.support.target_files import error_in, read, target_text

ETCD = 'kind = "etcd"'
LENGTHS = 'every = "8s"\nlasts = "1s"'


def cut(lock: str, *settings: str) -> str:
    fault = "\n".join(("[[faults]]", 'kind = "partition"', LENGTHS, *settings))
    return target_text(fault, lock=lock)


def test_members_are_named_or_lead() -> None:
    (named,) = read(cut(ETCD, 'target = "etcd-2"')).faults
    (leader,) = read(cut(ETCD, 'target = "lock:leader"', 'shape = "halves"', 'with = "holder:r0"')).faults

    assert (hits_servers(named), named.engine_need, named.aim()) == (True, "split", ("etcd-2",))
    assert (leader.engine_need, leader.aim(), leader.along) == ("split", ("lock",), "holder:r0")


def test_a_client_still_needs_only_its_edges() -> None:
    (fault,) = read(cut(ETCD, 'target = "holder"', 'from = ["etcd-1", "etcd-2"]')).faults

    assert (hits_servers(fault), fault.engine_need) == (False, "partitions")


@pytest.mark.parametrize(
    ("lock", "settings", "problem"),
    [
        (ETCD, ['target = "lock"'], 'or a member of a cluster ("lock:leader" or a name such as "etcd-2")'),
        (ETCD, ['target = "etcd-4"'], "this target has no server etcd-4; did you mean"),
        (f"{ETCD}\nnodes = 1", ['target = "etcd-1"'], "cannot be cut off: there is only etcd-1"),
        (ETCD, ['target = "etcd-1"', 'from = "lock"'], "give no from"),
        (ETCD, ['target = "etcd-1"', 'direction = "to-server"'], '"both", "outgoing" or "incoming"'),
        (ETCD, ['target = "holder"'], 'give from, such as "lock"'),
        (ETCD, ['target = "holder"', 'from = "lock"', 'shape = "halves"'], "give no shape or with"),
        (
            ETCD,
            ['target = "holder"', 'from = "lock"', 'direction = "outgoing"'],
            '"to-server" or "to-client"',
        ),
        (ETCD, ['target = "etcd-1"', 'shape = "bridge"', 'with = "holder"'], "a bridge has no target's side"),
        (
            ETCD,
            ['target = "etcd-1"', 'from = "lock"', 'how = "reset"'],
            'give no from; what members send is "dropped"',
        ),
        (ETCD, ['target = "etcd-1"', 'how = "reset"'], 'what members send is "dropped"'),
        (
            ETCD,
            ['target = "holder"', 'from = "lock"', 'how = "reset"', 'direction = "to-server"'],
            "give no dir",
        ),
        (ETCD, ['target = "etcd-1"', 'with = "client:5"'], 'with = "client:5": does not exist'),
        (ETCD, ['target = "etcd-1"', 'with = "holder:r2"'], "workload.resources is 2"),
        (
            'kind = "redlock"\ntoken = "random"',
            ['target = "redis-1"'],
            "only members of etcd and ZooKeeper can be",
        ),
        ('kind = "redis"', ['target = "lock:leader"'], "only members of etcd and ZooKeeper can be"),
        (
            'kind = "redis"\nreplica = true',
            ['target = "lock:leader"'],
            'redis has no leader: give one by its name, such as "redis-1"',
        ),
    ],
)
def test_members_that_cannot_be_divided_are_refused(lock: str, settings: list[str], problem: str) -> None:
    assert problem in error_in(cut(lock, *settings))


def test_only_such_a_fault_gives_members_proxies_of_their_own() -> None:
    plain = read(cut(ETCD, 'target = "holder"', 'from = "lock"'))
    split = read(cut(ETCD, 'target = "lock:leader"'))

    assert not member_links(deployment.topology(plain, plain.faults))
    assert len(member_links(deployment.topology(split, split.faults))) == 6
    assert not member_links(deployment.topology(split, []))


def test_the_local_engine_refuses_to_divide_etcd() -> None:
    target = read(cut(ETCD, 'target = "lock:leader"'))

    refused = never(deployment.topology(target, target.faults))

    assert "cannot cut the members of a cluster off from each other" in str(refused)
    assert "use Docker (run with --engine docker where a Docker engine answers" in str(refused)
