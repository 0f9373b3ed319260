"""Partitions between members in target files: valid ones, and those that are refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.engines.local_systems import never
from harness.network.members import member_links
from harness.run import deployment
from harness.spec import load

ETCD = 'kind = "etcd"'
HEAD = 'name = "t"\nexpect = "valid"\n[storage]\nkind = "postgres"\nfencing = "conditional-update"\n[lock]\n'
LENGTHS = 'every = "8s"\nlasts = "1s"'


@pytest.fixture
def read(tmp_path: Any) -> Any:
    def read(lock: str, *settings: str) -> Any:
        file = tmp_path / "t.toml"
        fault = "\n".join(('kind = "partition"', LENGTHS, *settings))
        file.write_text(f"{HEAD}{lock}\n[[faults]]\n{fault}\n")
        return load(str(file))

    return read


def test_members_are_named_or_lead(read: Any) -> None:
    (named,) = read(ETCD, 'target = "etcd-2"').faults
    (leader,) = read(ETCD, 'target = "lock:leader"', 'shape = "halves"', 'with = "holder:r0"').faults

    assert (named.hits_servers, named.engine_need, named.aim()) == (True, "split", ("etcd-2",))
    assert (leader.engine_need, leader.aim(), leader.along) == ("split", ("lock",), "holder:r0")


def test_a_client_still_needs_only_its_edges(read: Any) -> None:
    (fault,) = read(ETCD, 'target = "holder"', 'from = ["etcd-1", "etcd-2"]').faults

    assert (fault.hits_servers, fault.engine_need) == (False, "partitions")


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
def test_members_that_cannot_be_divided_are_refused(
    read: Any, lock: str, settings: list[str], problem: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(lock, *settings)

    assert problem in str(refused.value)


def test_only_such_a_fault_gives_members_proxies_of_their_own(read: Any) -> None:
    plain = read(ETCD, 'target = "holder"', 'from = "lock"')
    split = read(ETCD, 'target = "lock:leader"')

    assert not member_links(deployment.topology(plain, plain.faults))
    assert len(member_links(deployment.topology(split, split.faults))) == 6
    assert not member_links(deployment.topology(split, []))


def test_the_local_engine_refuses_to_divide_etcd(read: Any) -> None:
    target = read(ETCD, 'target = "lock:leader"')

    refused = never(deployment.topology(target, target.faults))

    assert "cannot cut the members of a cluster off from each other" in str(refused)
    assert "use Docker (run with --engine docker where a Docker engine answers" in str(refused)
