"""Contradictory settings, and absurd numbers."""

import pytest

from harness.spec import load
from harness.spec.reading import load_text
from tests.support.target_files import (
    PARTITION,
    PAUSE,
    SMALL,
    error_in,
    errors_in,
    errors_of,
    read,
    target_text,
)
from workloads.client import GIVES_NONE

KILL = '[[faults]]\nkind = "kill"\ntarget = "{target}"\nevery = "5s"\nlasts = "1s"\n'


@pytest.mark.parametrize("target", ["storage", "s3"])
def test_a_storage_that_forgets_the_order_of_its_writes_is_not_killed(target: str) -> None:
    kill = KILL.format(target=target)
    error = error_in(target_text(kill, storage='kind = "s3"\nfencing = "if-match"'))
    own = error_in(target_text(kill, storage='kind = "mine:Register"\nserver = "s3"\nfencing = "x"'))

    assert "kills s3, which has the order of its writes only in memory" in error
    assert error.endswith("pause the storage, or set storage.version")
    assert "kills s3, which has the order of its writes only in memory" in own
    assert own.endswith("pause the storage")


def test_a_storage_that_keeps_the_order_of_its_writes_may_be_killed() -> None:
    versions = 'kind = "s3"\nversion = "1.8.0"\nfencing = "if-match"'

    (fault,) = read(target_text(KILL.format(target="s3"), storage=versions)).faults

    assert fault.aim() == ("s3",)


def test_nothing_is_concluded_from_a_fault_with_errors() -> None:
    kill = '[[faults]]\nkind="kill"\ntarget="holder"\nevery="2s"'
    failover = '[[faults]]\nkind="failover"\ntarget="storage"'
    ending = (
        '[[faults]]\nkind="clock"\ntarget="storage"\njump="5s"\nlasts="1s"\nevery="6s"\nwhen="lease-ending"'
    )

    errors = errors_in(f"{SMALL}{kill}\n{failover}\n{ending}")

    assert [error.partition(": ")[2].partition(": ")[0] for error in errors] == [
        "faults.0",
        'faults.1.target = "storage"',
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            '[workload]\nclients = 3\n[[faults]]\nkind="pause"\ntarget="client:3"\nat="acquired"\nlasts="1s"',
            't.toml:14: faults.0.target = "client:3": does not exist: workload.clients is 3, so the last is client:2',
        ),
        (
            '[[faults]]\nkind="pause"\ntarget="holder:r2"\nat="acquired"\nlasts="1s"',
            't.toml:12: faults.0.target = "holder:r2": does not exist: workload.resources is 2, so the last is holder:r1',
        ),
        (
            '[[faults]]\nkind="partition"\ntarget="holder"\nfrom="lock"\nevery="3s"\nlasts="1.5 ttl"',
            't.toml:15: faults.0.lasts = "1.5 ttl": must be shorter than every: 3s is not less than 3s',
        ),
        (
            '[[faults]]\nkind="pause"\ntarget="holder"\nevery="30s"\nlasts="3s"',
            't.toml:13: faults.0.every = "30s": is longer than the run: workload.duration is 20s',
        ),
        (
            '[workload]\nduration="5s"\n[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nlasts="1s"',
            't.toml:11: workload.duration = "5s": is too short for faults: lock.ttl is 2s, and a run needs at least 6s, 3 TTLs',
        ),
        (
            '[workload]\nduration="6s"\n[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nlasts="3 ttl"',
            't.toml:16: faults.0.lasts = "3 ttl": must be shorter than the run: workload.duration is 6s',
        ),
        (
            '[require]\nhazards=9\n[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nuntil="superseded"',
            't.toml:11: require.hazards = 9: is more than its faults can hit: 1; "all" requires these',
        ),
        (
            '[workload]\nduration="10s"\nthink="11s"',
            't.toml:12: workload.think = "11s": is longer than the run: workload.duration is 10s',
        ),
        (
            "[workload]\nwrites=2",
            't.toml:11: workload.writes = 2: must be 1: storage.policy "strict" accepts one write per token ("inclusive" accepts more)',
        ),
    ],
)
def test_contradictory_settings_are_refused(text: str, error: str) -> None:
    assert errors_in(SMALL + text) == [error]


def test_a_lease_too_long_for_the_usual_run_is_refused_where_it_is_given() -> None:
    pause = '[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nlasts="1s"'

    text = SMALL.replace('kind = "etcd"', 'kind = "etcd"\nttl = "7s"')

    (error,) = errors_in(text + pause)

    assert error == (
        't.toml:6: lock.ttl = "7s": is too long for a run of 20s: with faults it needs at least 21s, 3 TTLs;'
        " give a shorter one, or a longer workload.duration"
    )


def test_a_run_without_faults_may_be_too_short_for_them() -> None:
    fault = '[[faults]]\nkind="pause"\ntarget="holder"\nevery="8s"\nlasts="3 ttl"'
    text = f'{SMALL}[workload]\nduration="5s"\n{fault}'

    assert len(errors_in(text)) == 3
    assert load_text(text, "t.toml", faults=False).workload.duration == 5_000_000_000


@pytest.mark.parametrize("side", ["storage", "both"])
def test_nobody_can_be_cut_off_from_a_file(side: str) -> None:
    errors = errors_of("etcd-postgres-partition", "storage.kind=sqlite", f"faults.0.from={side}")

    assert errors[0].endswith(
        f'faults.0.from = "{side}": no client can be cut off from storage.kind "sqlite": no server is started for it'
    )
    assert len(errors) == 3  # its other partitions also cut off more than the lock


SAME, OTHER = "etcd-same-etcd", "etcd-postgres"  # a storage in the lock's own etcd, and one that is not
HEARTBEATS = "must be at least 1s: a shorter session does not outlive its heartbeats\n"
NOT_REDIS = 'lock.kind is "redis": it must be "etcd" or "etcd-lock"'
ONE_OF_THEM = 'lock.version = "3.6.7": cannot be combined with lock.image: give only one'


@pytest.mark.parametrize(
    ("target", "settings", "problem"),
    [
        (SAME, ['lock={kind="redis"}', "faults.2.at=acquired"], NOT_REDIS),
        (SAME, ["lock.kind=etcd-lock", "lock.token=header-revision"], 'lock.token must be "create-revision"'),
        (SAME, ["storage.policy=strict"], 'storage.policy = "strict": needs storage.policy "inclusive"'),
        (SAME, ["storage.fence_on_acquire=true"], "as soon as its lock has ended"),
        (SAME, ["storage.round_robin=true", "lock.nodes=1"], "round_robin = true: needs several members"),
        (SAME, ["storage.image=etcd:3.6"], "does not start: set lock.image"),
        (SAME, ["storage.version=3.6.7"], "does not start: set lock.version"),
        (
            SAME,
            ['faults=[{kind="partition",target="holder",from="storage",every="8s",lasts="2s"}]'],
            'has no servers of its own with storage.fencing "lock-key": "lock" hits both',
        ),
        (OTHER, ["lock.version=3.6.7", "lock.image=quay.io/coreos/etcd:v3.6.4"], ONE_OF_THEM),
        ("etcd-sqlite", ["faults.0.at=write-sent"], "locks out all others; give lasts instead"),
        ("zookeeper-postgres", ["lock.ttl=900ms"], f'lock.ttl = "900ms": {HEARTBEATS}'),
        ("zookeeper-postgres", ["lock.ttl=1500us"], f'lock.ttl = "1500us": {HEARTBEATS}'),
        (
            "zookeeper-postgres",
            ["lock.ttl=2000500us"],
            'lock.ttl = "2000500us": must be whole milliseconds\n',
        ),
        ("zookeeper-postgres", ["lock.ttl=2h"], 'lock.ttl = "2h": must be at most 1h\n'),
    ],
)
def test_what_contradicts_its_target_is_refused(target: str, settings: list[str], problem: str) -> None:
    (error,) = errors_of(target, *settings)

    assert problem in f"{error}\n"


def test_with_lock_key_no_server_is_started_for_the_storage() -> None:
    target = load("etcd-same-etcd")

    assert target.storage.servers == ()
    assert target.storage_servers == target.lock.servers == ("etcd-1", "etcd-2", "etcd-3")


@pytest.mark.parametrize(
    ("faults", "fencing", "name", "why"),
    [
        ("", "upsert", "pauses", "no [[faults]] of this target is a pause"),
        (PARTITION, "upsert", "pauses_past_lease", "no [[faults]] of this target is a pause"),
        (
            PAUSE + 'at = "acquired"\nlasts = "3s"\n',
            "upsert",
            "partitions",
            "no [[faults]] of this target is a partition",
        ),
        (PARTITION, "upsert", "kills", "no fault kills"),
        (PARTITION, "upsert", "failovers", "no [[faults]] of this target is a failover"),
        (PARTITION, "none", "stale_writes_rejected", 'storage.fencing "none" refuses nothing'),
        (
            PARTITION,
            "none",
            "stale_writes_accepted",
            'a stale write that is accepted breaks expect = "valid"',
        ),
    ],
)
def test_an_impossible_count_cannot_be_required(faults: str, fencing: str, name: str, why: str) -> None:
    text = SMALL.replace("conditional-update", fencing) + faults + "[require]\n"

    read(f"{text}{name} = 0")
    (error,) = errors_in(f"{text}{name} = 1")
    assert error.endswith(f"require.{name} = 1: cannot occur: {why}")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ('[workload]\nduration = "25h"', "must be at most 24h"),
        ("[require]\ngrants = 1000000001", "must be at most 1000000000"),
        (PAUSE + f'at = "acquired"\nlasts = "{"9" * 400} ttl"', "must be at most 100000 ttl"),
    ],
)
def test_an_absurd_number_is_refused_with_the_limit(text: str, limit: str) -> None:
    (error,) = errors_in(SMALL + text)
    assert error.endswith(limit)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ('"valid"\nmay = ["stale-read"]', "list expected anomalies in expect, or remove may"),
        (
            '["stale-write"]\nmay = ["stale-write", "stale-read"]',
            "stale-write must be found according to expect: remove it here",
        ),
        ('["late-write"]', "unknown anomaly late-write; did you mean"),  # it is only counted
    ],
)
def test_anomalies_that_cannot_be_expected_are_refused(expected: str, problem: str) -> None:
    (error,) = errors_in(SMALL.replace('"valid"', expected))

    assert problem in error


def test_contradictions_are_reported_together_with_other_errors() -> None:
    text = SMALL.replace('kind = "postgres"', 'kind = "postgres"\nflavour = 3') + "[workload]\nwrites = 2\n"

    assert [error.split(":")[1] for error in errors_in(text)] == ["9", "12"]


def test_no_client_can_supersede_one_that_holds_the_row_lock() -> None:
    sent = PAUSE + 'at = "write-sent"\n'
    in_many_messages = SMALL.replace("conditional-update", "select-for-update")

    read(SMALL + sent + 'until = "superseded"\n')
    read(in_many_messages + sent + 'lasts = "3s"\n')
    (error,) = errors_in(in_many_messages + sent + 'until = "superseded"\n')
    assert error.startswith("t.toml:14: faults.0.until")
    assert error.endswith("give lasts instead")


@pytest.mark.parametrize(
    ("lock", "setting"),
    [
        ('kind = "redis"', 'lock.kind "redis" without wait_for_replica'),
        ('kind = "kahuna"', 'lock.kind "kahuna"'),
        ('kind = "http"\nurl = "http://127.0.0.1:1"', 'lock.kind "http"'),
        ('kind = "redlock"\ntoken = "highest-counter"', 'lock.token "highest-counter"'),
    ],
)
def test_granted_is_refused_if_one_answer_carries_grant_and_token(lock: str, setting: str) -> None:
    text = SMALL.replace('kind = "etcd"', lock) + PAUSE + 'at = "granted"\nuntil = "superseded"\n'

    (error,) = errors_in(text)

    line = 1 + text[: text.index("at =")].count("\n")
    assert error.startswith(f't.toml:{line}: faults.0.at = "granted": never happens with {setting}: ')
    assert error.endswith('give "acquired" instead')


@pytest.mark.parametrize(
    "lock",
    [
        'kind = "etcd"',
        'kind = "etcd-lock"',
        'kind = "zookeeper"',
        'kind = "redis"\nreplica = true\nwait_for_replica = true',
        'kind = "redlock"\ntoken = "wall-clock"',
        'kind = "mine.locks:MyLock"',
        'kind = "redis"\n[client]\ncommand = ["true"]',
    ],
)
def test_granted_is_a_stop_point_of_a_lock_that_grants_in_steps(lock: str) -> None:
    read(SMALL.replace('kind = "etcd"', lock) + PAUSE + 'at = "granted"\nuntil = "superseded"\n')


def test_a_fence_is_refused_if_the_lock_gives_no_tokens() -> None:
    text = SMALL.replace('kind = "etcd"', 'kind = "etcd"\ntoken = "none"')
    program = '[client]\ncommand = ["./app"]\nside = "lock"\n'

    (fence,) = errors_in(text + program)
    (own,) = errors_in(text)
    unfenced = read((text + program).replace('"conditional-update"', '"none"'))

    place = 't.toml:10: storage.fencing = "conditional-update"'
    assert fence == f'{place}: cannot be used with lock.token "none": {GIVES_NONE}'
    assert own.endswith(
        'is for a lock of your own, but Fencepost\'s own "etcd" gives a token: remove the key'
    )
    assert (unfenced.lock.token, unfenced.fenced) == ("none", False)


def test_a_misspelled_victim_is_not_told_what_servers_need_alone() -> None:
    errors = errors_in(SMALL + '[[faults]]\nkind = "pause"\ntarget = "holdr"\n')

    assert len(errors) == 2
    assert sum("did you mean holder?" in error for error in errors) == 1
    assert not any("until" in error for error in errors)
