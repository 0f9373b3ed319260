"""Complete runs of jobs that must run once: a cron over a lock, with and without pauses past its lease."""

import json
from pathlib import Path

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.challenged import counted, run_until_challenged
from tests.support.command import run_target

pytestmark = pytest.mark.engine
SINGLE = "lock.nodes=1"
QUIET = (
    "faults=[]",
    'lock={kind="redis",ttl="30s"}',  # no lease ends, also on a busy machine
    "require={executions_past_lease=0,executions=3}",
)


@pytest.mark.slow
def test_a_cron_without_faults_runs_every_job_once(tmp_path: Path) -> None:
    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "etcd-postgres-cron-short-pauses", *QUIET, duration),
        seconds=2,
        was_challenged=counted("executions", least=3),
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    coverage = json.loads(done.stdout)["coverage"]
    assert coverage["jobs_submitted"] >= coverage["executions"]


@pytest.mark.slow
def test_a_pause_past_the_lease_of_a_cron_runs_a_job_twice(tmp_path: Path) -> None:
    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "etcd-postgres-cron", SINGLE, duration),
        seconds=8,
        was_challenged=counted("executions_past_lease", "stale_writes_rejected"),
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    verdict = json.loads(done.stdout)
    assert {finding["anomaly"] for finding in verdict["findings"]} == {"double-run"}
    assert verdict["coverage"]["stale_writes_accepted"] == 0
