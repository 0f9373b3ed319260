"""Delays, slow networks and partitions in target files: valid and impossible combinations."""

from typing import Any

import pytest

from harness.core.duration import NS, Span
from harness.engines.local_systems import never
from harness.nemesis.delay import DelaySpec
from harness.nemesis.faults import hits_servers
from harness.nemesis.plan import plan
from harness.network.members import member_links
from harness.run import deployment
from tests.support.target_files import error_in, read, target_text

AIMED = 'at = "before-write"\nuntil = "superseded"\n'


def delayed(times: str, to: str = '"storage"', lock: str = "etcd", storage: str = "postgres") -> str:
    fault = f'[[faults]]\nkind = "delay"\ntarget = "holder"\nto = {to}\n{times}'
    return target_text(
        fault, lock=f'kind = "{lock}"', storage=f'kind = "{storage}"\nfencing = "conditional-update"'
    )


def test_a_delay_is_read_with_its_stop_point_and_end() -> None:
    (fault,) = read(delayed(AIMED, to='"both"')).faults

    assert isinstance(fault, DelaySpec)
    assert (fault.at, fault.until, fault.aim()) == ("before-write", "superseded", ("lock", "storage"))


def test_a_delay_may_come_at_any_moment() -> None:
    (fault,) = read(delayed('every = "8s"\nlasts = "1.5 ttl"\n', to='["etcd-1"]')).faults

    assert (fault.lasts, fault.aim()) == (Span(ttls=1.5), ("etcd-1",))


def test_the_header_of_the_history_has_the_words_for_a_delay() -> None:
    header = deployment.header(read(delayed(AIMED)), 1)

    assert header["faults"]["delay"]["now"] == "has its messages held back"
    assert header["faults"]["delay"]["count"] == "delays"


def test_a_delay_needs_proxies() -> None:
    target = read(delayed(AIMED))

    assert deployment.topology(target, target.faults).partitions


@pytest.mark.parametrize(
    ("times", "options", "problem"),
    [
        ('lasts = "1s"\n', {}, "a delay starts either at a stop point or in each interval"),
        ('at = "acquired"\n', {}, "a delay needs one end"),
        ('every = "8s"\nuntil = "superseded"\n', {}, "a delay from outside (every) has a fixed duration"),
        ('at = "write-sent"\nlasts = "1s"\n', {}, 'must be "granted", "acquired"'),
        ('at = "granted"\nlasts = "1s"\n', {"lock": "redis"}, "never happens with"),
        ('at = "list-read"\nlasts = "1s"\n', {}, 'occurs only in the workload "append"'),
        ('at = "acquired"\nlasts = "51s"\n[workload]\nduration = "2m"\n', {}, "must be at most 50s"),
        (AIMED, {"to": '["etcd-7"]'}, "this target has no server etcd-7"),
        (AIMED, {"storage": "sqlite"}, 'no message to storage.kind "sqlite" can be held back'),
    ],
)
def test_an_impossible_delay_is_refused(times: str, options: Any, problem: str) -> None:
    assert problem in error_in(delayed(times, **options))


MEMBERS = 'kind = "etcd"\n'
LATE = 'by = "3s"\nevery = "15s"\nlasts = "4s"\n'


def between(settings: str, lock: str = MEMBERS) -> str:
    return target_text(f'[[faults]]\nkind = "delay"\n{settings}', lock=lock)


def test_messages_between_members_may_be_late() -> None:
    target = read(between(f'target = "lock:leader"\ndirection = "incoming"\nover = "6s"\n{LATE}'))
    (fault,) = target.faults

    assert (hits_servers(fault), fault.engine_need, fault.aim()) == (True, "split", ("lock",))
    assert (fault.by, fault.over, fault.direction) == (3 * NS["s"], 6 * NS["s"], "incoming")
    assert len(member_links(deployment.topology(target, target.faults))) == 6


def test_such_a_delay_ends_before_the_next_interval() -> None:
    target = read(between(f'target = "etcd-2"\nover = "6s"\n{LATE}[workload]\nduration = "60s"\n'))

    for seed in range(50):
        (planned,) = plan(target.faults, seed, target.lock.ttl, target.workload.duration)
        begun_within = [moment - nth * 15 * NS["s"] for nth, moment in enumerate(planned.moments)]
        assert len(begun_within) == 4
        assert all(0 <= begun <= 5 * NS["s"] for begun in begun_within)


@pytest.mark.parametrize(
    ("settings", "lock", "problem"),
    [
        (f'target = "etcd-1"\nto = "lock"\n{LATE}', MEMBERS, "give no to"),
        ('target = "etcd-1"\nevery = "15s"\nlasts = "4s"\n', MEMBERS, "give by, how late"),
        ('target = "etcd-1"\nby = "5s"\nevery = "15s"\nlasts = "4s"\n', MEMBERS, "500ms to 4s"),
        ('target = "etcd-1"\nby = "1s"\nat = "acquired"\nlasts = "4s"\n', MEMBERS, "give every, and no at"),
        ('target = "etcd-1"\nby = "1s"\nevery = "15s"\n', MEMBERS, "give lasts"),
        (
            f'target = "etcd-1"\nover = "11s"\n{LATE}',
            MEMBERS,
            "over and lasts must together be shorter than every",
        ),
        (f'target = "etcd-1"\n{LATE}', f"{MEMBERS}nodes = 1\n", "cannot be delayed: there is only etcd-1"),
        (
            f'target = "redis-1"\n{LATE}',
            'kind = "redis"\n',
            "only members of etcd, Galera and ZooKeeper can be",
        ),
        (f'target = "holder"\nto = "lock"\n{LATE}', MEMBERS, "give no by, direction or over"),
        ('target = "holder"\nat = "acquired"\nlasts = "1s"\n', MEMBERS, 'give to, such as "storage"'),
    ],
)
def test_an_impossible_delay_between_members_is_refused(settings: str, lock: str, problem: str) -> None:
    assert problem in error_in(between(settings, lock))


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


UNDIVIDED = {
    ETCD: [
        (['target = "lock"'], 'or a member of a cluster ("lock:leader" or a name such as "etcd-2")'),
        (['target = "etcd-4"'], "this target has no server etcd-4; did you mean"),
        (['target = "etcd-1"', 'from = "lock"'], "give no from"),
        (['target = "etcd-1"', 'direction = "to-server"'], '"both", "outgoing" or "incoming"'),
        (['target = "holder"'], 'give from, such as "lock"'),
        (['target = "holder"', 'from = "lock"', 'shape = "halves"'], "give no shape or with"),
        (['target = "holder"', 'from = "lock"', 'direction = "outgoing"'], '"to-server" or "to-client"'),
        (['target = "etcd-1"', 'shape = "bridge"', 'with = "holder"'], "a bridge has no target's side"),
        (
            ['target = "etcd-1"', 'from = "lock"', 'how = "reset"'],
            'give no from; what members send is "dropped"',
        ),
        (['target = "etcd-1"', 'how = "reset"'], 'what members send is "dropped"'),
        (['target = "holder"', 'from = "lock"', 'how = "reset"', 'direction = "to-server"'], "give no dir"),
        (['target = "etcd-1"', 'with = "client:5"'], 'with = "client:5": does not exist'),
        (['target = "etcd-1"', 'with = "holder:r2"'], "workload.resources is 2"),
    ],
    f"{ETCD}\nnodes = 1": [(['target = "etcd-1"'], "cannot be cut off: there is only etcd-1")],
    'kind = "redlock"\ntoken = "random"': [
        (['target = "redis-1"'], "only members of etcd, Galera and ZooKeeper can be")
    ],
    'kind = "redis"': [(['target = "lock:leader"'], "only members of etcd, Galera and ZooKeeper can be")],
    'kind = "redis"\nreplica = true': [
        (['target = "lock:leader"'], 'redis has no leader: give one by its name, such as "redis-1"')
    ],
}


@pytest.mark.parametrize(
    ("lock", "settings", "problem"), [(each, *row) for each, rows in UNDIVIDED.items() for row in rows]
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


def slowed(keys: str) -> str:
    fault = '[[faults]]\nkind = "slow"\ntarget = "holder"\nto = "both"\nlasts = "1 ttl"'
    return target_text(f"{fault}\n{keys}")


def test_a_slow_network_is_read_with_its_jitter_and_rate() -> None:
    (fault,) = read(slowed('jitter = "300ms"\nrate = "10KB/s"\n')).faults

    assert (fault.jitter, fault.rate, fault.aim()) == (300 * NS["ms"], 10, ("lock", "storage"))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("", "needs jitter, or rate, or both"),
        ('jitter = "1ms"\n', "jitter must be 50ms to 10s"),
        ('rate = "10"\n', "whole number of kilobytes a second"),
        ('rate = "0KB/s"\n', "whole number of kilobytes a second"),
    ],
)
def test_an_impossible_slow_network_is_refused(keys: str, problem: str) -> None:
    assert problem in error_in(slowed(keys))
