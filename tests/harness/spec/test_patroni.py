"""A storage that Patroni runs: what it allows, and what it refuses."""

import pytest

from harness.engines.local_systems import never
from harness.run import deployment
from tests.support.target_files import error_in, read, target_text

PROMOTION = 'kind = "failover"\ntarget = "storage"'
PATRONI = 'kind = "postgres"\nfencing = "upsert"\nreplication = "synchronous"\nmanager = "patroni"\n'
TWO_PRIMARIES = 'old_primary = "paused"\nlasts = "2s"'


def managed(fault: str, lock: str = 'kind = "etcd"', storage: str = PATRONI, duration: str = "50s") -> str:
    workload = f'[workload]\nduration = "{duration}"'
    return target_text(workload, f"[[faults]]\n{fault}", lock=lock, storage=storage)


def test_only_docker_runs_patroni() -> None:
    target = read(managed(f'{PROMOTION}\nheld = "1 ttl"'))

    refused = never(deployment.topology(target, target.faults))

    assert "the local engine has no Patroni, which runs postgres: use Docker" in str(refused)


def test_a_primary_may_be_paused_until_patroni_demotes_it() -> None:
    assert read(managed(f'{PROMOTION}\nold_primary = "paused"')).faults[0].lasts is None


@pytest.mark.parametrize(
    ("fault", "changed", "problem"),
    [
        (
            f'{PROMOTION}\nold_primary = "cut-off"',
            {},
            'keeps its key in etcd, so that no standby is promoted; give "killed" or "paused"',
        ),
        (f"{PROMOTION}\n{TWO_PRIMARIES}", {}, "which demotes the old primary itself: remove it"),
        (PROMOTION, {"duration": "30s"}, "it must be at least 37s"),
        (f'{PROMOTION}\nheld = "5s"', {"duration": "40s"}, "it must be at least 45s"),
        (PROMOTION, {"lock": 'kind = "redis"'}, 'set lock.kind "etcd" or "etcd-lock"'),
        (
            PROMOTION,
            {"lock": 'kind = "etcd"\nservers = ["127.0.0.1:2379"]'},
            "in the etcd of the lock, which Fencepost must start",
        ),
        (
            'kind = "kill"\ntarget = "lock"\nevery = "8s"\nlasts = "1s"',
            {},
            "the only such fault is a failover of the storage",
        ),
        (
            PROMOTION,
            {"storage": PATRONI.replace('replication = "synchronous"', "")},
            'manager "patroni" needs a standby',
        ),
    ],
)
def test_what_patroni_cannot_do_is_refused(fault: str, changed: dict[str, str], problem: str) -> None:
    assert problem in error_in(managed(fault, **changed))
