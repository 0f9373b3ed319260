"""Faults on servers in target files: valid and impossible combinations."""

from typing import Any

import pytest

from harness.core.duration import NS, Span
from harness.core.errors import ConfigurationError
from harness.nemesis.clock import ClockSpec
from harness.nemesis.failover import FailoverSpec
from harness.nemesis.faults import hits_servers
from harness.nemesis.kill import KillSpec
from harness.nemesis.plan import plan
from harness.nemesis.reach import recorded_target
from tests.support.target_files import error_in, read

LOCKS = {
    "etcd": 'kind = "etcd"',
    "release": 'kind = "etcd"\nversion = "3.5.15"',
    "zookeeper": 'kind = "zookeeper"',
    "redis": 'kind = "redis"',
    "official": 'kind = "redis"\nimage = "redis:8"',
    "replica": 'kind = "redis"\nreplica = true',
    "kahuna": 'kind = "kahuna"',
}
KILL = 'kind = "kill"\ntarget = "{}"\nevery = "8s"\nlasts = "1s"'
CLOCK = 'kind = "clock"\ntarget = "{}"\njump = "1h"\nevery = "8s"\nlasts = "1s"'
FAILOVER = 'kind = "failover"\ntarget = "lock"'
PROMOTION = 'kind = "failover"\ntarget = "storage"'
STANDBY = 'kind = "postgres"\nfencing = "none"\nreplication = "asynchronous"'
PAUSE = 'kind = "pause"\ntarget = "{}"\nevery = "8s"\nlasts = "1s"'
SERVERS = 'kind = "kill"\ntarget = {}\nlasts = "1s"'
SQLITE = 'kind = "sqlite"\nfencing = "none"'
CUT = 'kind = "partition"\ntarget = "client:0"\nfrom = {}\nevery = "8s"\nlasts = "1s"'


def text(lock: str, *faults: str, storage: str = 'kind = "postgres"\nfencing = "none"') -> str:
    entries = "".join(f"[[faults]]\n{fault}\n" for fault in faults)
    return f'name = "t"\nexpect = ["stale-write"]\n[lock]\n{LOCKS[lock]}\n[storage]\n{storage}\n{entries}'


def test_each_kind_is_read_with_its_durations() -> None:
    kill, clock, failover = read(
        text("replica", KILL.format("storage"), CLOCK.format("redis-1"), f'{FAILOVER}\nheld = "1 ttl"')
    ).faults

    assert isinstance(kill, KillSpec)
    assert (kill.target, kill.lasts) == ("storage", Span(ns=NS["s"]))
    assert isinstance(clock, ClockSpec)
    assert (clock.target, clock.jump) == ("redis-1", NS["h"])
    assert isinstance(failover, FailoverSpec)
    assert failover.held == Span(ttls=1.0)


def test_a_partition_may_name_servers() -> None:
    (fault,) = read(text("etcd", CUT.format('["etcd-2", "postgres"]'))).faults

    assert fault.side == ("etcd-2", "postgres")


IMPOSSIBLE = {
    "etcd": [
        (KILL.format("etcd-4"), "this target has no server etcd-4; did you mean"),
        (KILL.format("Lock!"), 'a name such as "redis-1", or a list of names)'),
        (CUT.format('["etcd-1", "redis-1"]'), "this target has no server redis-1"),
        (CUT.format("[]"), 'must be "lock", "storage", "both", or a list of servers'),
        (CUT.format('"locks"'), 'must be "lock", "storage", "both", or a list of servers'),
        (FAILOVER, 'needs a replica: set lock.kind "redis" with replica = true'),
        (PROMOTION, 'needs a standby: set storage.kind "postgres" with replication = "asynchronous"'),
        (f'{PROMOTION}\nlasts = "1s"', 'set old_primary "cut-off" too, or "paused" for the storage'),
        (
            PAUSE.format("lock") + '\nat = "before-write"',
            "a pause starts either at a stop point or in each interval",
        ),
        (
            'kind = "pause"\ntarget = "storage"\nlasts = "1s"\nat = "acquired"',
            'is "before-write" for storage: a holder in the workload register writes next',
        ),
        (PAUSE.format("waiter"), "say where that is (at)"),
        (
            'kind = "pause"\ntarget = "lock"\nevery = "8s"',
            "a pause of servers without a stop point needs a length: give lasts",
        ),
        (PAUSE.format("storage:leader"), 'postgres has no leader: give one by its name, such as "postgres"'),
        (PAUSE.format("etcd-7"), "this target has no server etcd-7"),
        (PAUSE.format("client"), 'must be a client ("holder", "holder:r0" or "client:0") or servers'),
        (PAUSE.format("holder:leader"), 'must be a client ("holder", "holder:r0" or "client:0") or servers'),
        ('kind = "kill"\ntarget = "holder"\nlasts = "1s"', "a client is killed once and not restarted"),
        ('kind = "kill"\ntarget = "lock"', "give lasts"),
        ('kind = "kill"\ntarget = "lock"\nlasts = "1s"\nat = "acquired"', "give every"),
        ('kind = "kill"\ntarget = "lock"\nevery = "8s"\nat = "acquired"', "give lasts"),
        ('kind = "kill"\ntarget = "client:5"', "does not exist: workload.clients is 5"),
        ('kind = "kill"\ntarget = "holder"\nat = "list-read"', 'occurs only in the workload "append"'),
        (
            SERVERS.format('["etcd-1", "postgres"]'),
            "names servers of the lock service and of the storage: give two faults",
        ),
        (SERVERS.format('["etcd-1", "etcd-9"]'), "this target has no server etcd-9"),
        (SERVERS.format('["lock", "storage"]'), "or a list of names"),
        (SERVERS.format('["lock:leader", "etcd-1"]'), "or a list of names"),
        (SERVERS.format('["holder", "etcd-1"]'), "or a list of names"),
        (SERVERS.format("[]"), "must be a"),
    ],
    "redis": [
        (FAILOVER, 'needs a replica: set lock.kind "redis" with replica = true'),
        (CLOCK.format("lock").replace("1h", "1s"), "must be at least 2s"),
        (f"{CLOCK.format('lock')}\ndrift = 1.0", "a clock moves in one way: give jump"),
        (CLOCK.format("lock").replace('jump = "1h"', "drift = 0.1"), "must be at least 0.2"),
        (KILL.format("lock:leader"), "redis has no leader"),
    ],
    "release": [
        (CLOCK.format("etcd-1"), "cannot be moved: lock.version 3.5.15 is built as a static program")
    ],
    "kahuna": [(CLOCK.format("lock"), "the clock of kahuna cannot be moved: Fencepost has no image of it")],
    "official": [(CLOCK.format("lock"), "its clock cannot be moved: lock.image is redis:8")],
    "zookeeper": [(CLOCK.format("lock").replace("1h", "-1h"), "a monotonic clock, which never goes back")],
    "replica": [
        (f'{FAILOVER}\nheld = "10s"', "must be shorter than half the run"),
        (f'{FAILOVER}\nlasts = "1s"', 'or of a lock with manager "sentinel"'),
        (f'{FAILOVER}\nold_primary = "paused"', "is for the target storage, or for a lock with manager"),
    ],
}


@pytest.mark.parametrize(
    ("lock", "fault", "problem"), [(each, *row) for each, rows in IMPOSSIBLE.items() for row in rows]
)
def test_an_impossible_fault_is_refused_in_one_sentence(lock: str, fault: str, problem: str) -> None:
    assert problem in error_in(text(lock, fault))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (text("redis", KILL.format("storage"), storage=SQLITE), "no server is started for it"),
        (text("redis", PAUSE.format("storage"), storage=SQLITE), "no server is started for it"),
        (
            text("replica", f'{FAILOVER}\nheld = "55s"') + '[workload]\nduration = "5m"\n',
            "must be at most 50s",
        ),
        (
            text("redis").replace('"redis"', '"redis"\nwait_for_replica = true'),
            "wait_for_replica needs a replica: set replica = true",
        ),
        (
            text("redis").replace('"redis"', '"redis"\nmin_replicas_to_write = 1'),
            "min_replicas_to_write needs a replica: set replica = true",
        ),
        (
            text("etcd", storage=f'{STANDBY}\nimage = "postgres:18"'),
            "replication needs Fencepost's own image of PostgreSQL",
        ),
        (
            text("etcd", storage=STANDBY.replace('"postgres"', '"mine:Storage"')),
            'replication needs server = "postgres"',
        ),
        (text("etcd", storage=STANDBY.replace("asynchronous", "logical")), "replication"),
    ],
)
def test_what_a_side_cannot_have_is_refused_in_one_sentence(content: str, problem: str) -> None:
    assert problem in error_in(content)


def test_a_failover_is_single_and_excludes_kills_of_its_servers() -> None:
    with pytest.raises(ConfigurationError, match="occurs twice"):
        read(text("replica", FAILOVER, FAILOVER))
    assert "cannot be combined with a kill of the lock's servers" in error_in(
        text("replica", FAILOVER, KILL.format("redis-1"))
    )
    assert read(text("replica", FAILOVER, KILL.format("storage")))
    assert read(text("replica", FAILOVER, PROMOTION, storage=STANDBY)), "both sides may fail over"


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        ((PROMOTION, KILL.format("postgres")), "cannot be combined with a kill of the storage's servers"),
        (
            (PROMOTION, 'kind = "pause"\ntarget = "postgres-standby"\nlasts = "1s"'),
            "cannot be combined with a pause of the storage's servers",
        ),
        (
            (f'{PROMOTION}\nold_primary = "cut-off"\nlasts = "1s"\nleft_behind = 5',),
            "must be less than workload.clients, which is 5",
        ),
        (
            (f'{PROMOTION}\nold_primary = "paused"',),
            "leaves two primaries: say in lasts how long there are two",
        ),
        (
            (f'{PROMOTION}\nold_primary = "paused"\nlasts = "6s"\nheld = "4s"',),
            "held and lasts must together be shorter than half the run",
        ),
    ],
)
def test_an_impossible_failover_of_postgres_is_refused(faults: tuple[str, ...], problem: str) -> None:
    assert problem in error_in(text("etcd", *faults, storage=STANDBY))


@pytest.mark.parametrize(
    ("target", "aim"),
    [
        ("lock", ("lock",)),
        ("lock:leader", ("lock",)),
        ("storage", ("storage",)),
        ("etcd-1", ("etcd-1",)),
        ("holder", ()),
    ],
)
def test_a_pause_hits_servers_or_a_client(target: str, aim: Any) -> None:
    (pause,) = read(text("etcd", PAUSE.format(target))).faults

    assert hits_servers(pause) == bool(aim)
    assert pause.aim() == aim


def test_a_leader_may_be_stopped_in_an_orderly_way() -> None:
    (kill,) = read(text("etcd", KILL.format("lock:leader") + "\norderly = true")).faults

    assert (kill.aim(), kill.orderly) == (("lock",), True)


def test_servers_are_paused_once_per_run_without_an_interval() -> None:
    (pause,) = read(text("etcd", PAUSE.format("lock").replace('every = "8s"\n', ""))).faults

    assert len(plan((pause,), 1, 2 * NS["s"], 20 * NS["s"])[0].moments) == 1


def test_a_holder_may_be_killed_at_a_stop_point() -> None:
    (fault,) = read(text("etcd", 'kind = "kill"\ntarget = "holder"\nat = "before-write"')).faults

    assert (hits_servers(fault), fault.aim(), fault.engine_need) == (False, (), None)
    assert plan((fault,), 1, 2 * NS["s"], 20 * NS["s"])[0].moments == ()


def test_a_client_is_killed_once_in_the_second_fifth_of_the_run() -> None:
    (fault,) = read(text("etcd", 'kind = "kill"\ntarget = "client:1"')).faults

    (moment,) = plan((fault,), 1, 2 * NS["s"], 20 * NS["s"])[0].moments
    assert 4 * NS["s"] <= moment < 8 * NS["s"]


@pytest.mark.parametrize("kind", ["kill", "pause", "throttle"])
def test_a_fault_may_name_several_servers(kind: str) -> None:
    share = "\nshare = 0.1" if kind == "throttle" else ""
    target = read(text("etcd", f'kind = "{kind}"\ntarget = ["etcd-1", "etcd-3"]\nlasts = "1s"{share}'))
    (fault,) = target.faults

    assert fault.aim() == ("etcd-1", "etcd-3")
    assert recorded_target(fault.target, target.sides) == "lock:etcd-1, etcd-3"


def test_a_clock_may_jump_back() -> None:
    (fault,) = read(text("redis", CLOCK.format("lock").replace("1h", "-1h"))).faults

    assert fault.jump == -NS["h"]
