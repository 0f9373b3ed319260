"""A lock that Sentinel watches: what its servers are, what it allows, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engines.local_systems import never
from harness.network.topology import Link, Topology, links
from harness.run import deployment
from harness.spec import Target
from tests.support.target_files import error_in, read, target_text
from workloads.settings import RedisLockSettings

SENTINEL = 'kind = "redis"\nmanager = "sentinel"'
PROMOTION = 'kind = "failover"\ntarget = "lock"'
CUT_OFF = f'{PROMOTION}\nold_primary = "cut-off"'
OF_HOLDER = 'kind = "pause"\ntarget = "holder"\nat = "before-write"\nlasts = "3s"'
PROGRAM = '[client]\ncommand = ["true"]\nside = "lock"'


def managed(fault: str = PROMOTION, lock: str = SENTINEL, duration: str = "50s", more: str = "") -> str:
    workload = f'[workload]\nduration = "{duration}"'
    return target_text(workload, f"[[faults]]\n{fault}", more, lock=lock)


def topology(target: Target) -> Topology:
    return deployment.topology(target, target.faults)


@pytest.mark.parametrize("flavour", ["redis", "valkey"])
def test_three_servers_of_one_image_and_three_sentinels_are_started(flavour: str) -> None:
    planned = topology(read(managed(lock=f'{SENTINEL}\nflavour = "{flavour}"')))

    of_lock = [spec for spec in planned.servers if spec.cluster == "lock"]
    assert [(spec.name, spec.system, spec.follows) for spec in of_lock] == [
        ("redis-1", "redis", ""),
        ("redis-2", "redis", "redis-1"),
        ("redis-3", "redis", "redis-1"),
        ("sentinel-1", "sentinel", ""),
        ("sentinel-2", "sentinel", ""),
        ("sentinel-3", "sentinel", ""),
    ]
    assert {spec.image for spec in of_lock} == {f"fencepost/{flavour}"}
    assert links(planned) == tuple(Link("servers", f"redis-{number}") for number in (1, 2, 3))


def test_a_client_knows_its_own_way_to_each_server_that_sentinels_name(tmp_path: Path) -> None:
    target = read(managed())
    at = [f"127.0.0.1:{port}" for port in range(1, 7)]

    settings = target.lock.settings(
        kind="redis", endpoints=target.lock.endpoints(at, tmp_path), timeout=1.0, ttl=1, client=0, token=""
    )

    assert isinstance(settings, RedisLockSettings)
    assert settings.sentinels == ("127.0.0.1:4", "127.0.0.1:5", "127.0.0.1:6")
    assert settings.announced["redis-2.proxy"] == "127.0.0.1:2"


def test_only_docker_runs_sentinel() -> None:
    refused = never(topology(read(managed())))

    assert "the local engine has no Sentinel, which runs redis-1: use Docker" in str(refused)


def test_a_primary_may_be_paused_until_sentinel_demotes_it() -> None:
    assert read(managed(f'{PROMOTION}\nold_primary = "paused"')).faults[0].lasts is None


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"lock": f"{SENTINEL}\nreplica = true"}, "has two replicas of its own: remove replica"),
        (
            {"lock": f'{SENTINEL}\nservers = ["127.0.0.1:6379"]', "fault": OF_HOLDER},
            "is for servers that Fencepost starts",
        ),
        (
            {"lock": 'kind = "redlock"\ntoken = "random"\nmanager = "sentinel"', "fault": OF_HOLDER},
            'lock.manager = "sentinel": unknown key',
        ),
        (
            {"lock": 'kind = "redis"\nmin_replicas_to_write = 1', "fault": OF_HOLDER},
            'set replica = true, or manager = "sentinel"',
        ),
        ({"more": PROGRAM}, "is for Fencepost's own lock"),
        ({"fault": f'{PROMOTION}\nheld = "1s"'}, 'for lost grants, give old_primary = "cut-off"'),
        ({"fault": f'{CUT_OFF}\nlasts = "2s"\nheld = "1s"'}, "would promote a replica: remove the key\n"),
        ({"fault": CUT_OFF}, '"cut-off" leaves two primaries: say in lasts how long'),
        (
            {"fault": f'{PROMOTION}\nold_primary = "paused"\nlasts = "2s"'},
            'is only for old_primary "cut-off"',
        ),
        ({"fault": f'{CUT_OFF}\nlasts = "6s"', "duration": "26s"}, "it must be at least 27s"),
        (
            {"fault": f'{CUT_OFF}\nlasts = "2s"\nleft_behind = 5'},
            "must be less than workload.clients, which is 5",
        ),
        (
            {"fault": 'kind = "kill"\ntarget = "lock:leader"\nevery = "8s"\nlasts = "1s"'},
            "the only such fault is a failover of the lock",
        ),
        (
            {"fault": 'kind = "pause"\ntarget = "sentinel-1"\nevery = "8s"\nlasts = "1s"'},
            "the only such fault is a failover of the lock",
        ),
    ],
)
def test_what_sentinel_cannot_do_is_refused(changed: dict[str, str], problem: str) -> None:
    assert problem in f"{error_in(managed(**changed))}\n"


@pytest.mark.parametrize(
    "lock", ['kind = "redis"\nmanager = "sentinal"', f"{SENTINEL}\nmin_replicas_to_write = 2"]
)
def test_a_wrong_lock_says_nothing_about_its_failover(lock: str) -> None:
    problems = error_in(managed(f'{CUT_OFF}\nlasts = "2s"', lock=lock))

    assert "lock." in problems
    assert "faults.0" not in problems
