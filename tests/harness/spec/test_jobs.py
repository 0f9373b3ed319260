"""Targets whose clients execute jobs: what they have, and what only locks have."""

import pytest

from harness.run import deployment
from harness.spec.hazards import hazard_table
from harness.spec.warnings import warnings
from tests.support.target_files import PAUSE, SUPERSEDED, error_in, read, target_text

JOBS = '[workload]\nkind = "run"\nduration = "9s"\n'


def test_each_queue_has_a_job_in_each_interval() -> None:
    target = read(target_text(f'{JOBS}resources = 2\nevery = "4s"'))

    assert deployment.resources(target) == ("q0", "q1")
    assert deployment.written(target) == ("q0-0", "q0-1", "q1-0", "q1-1")
    assert deployment.places(target) == ("q0", "q1", "q0-0", "q0-1", "q1-0", "q1-1")
    assert deployment.work(target) == "run: 5 workers, 2 queues, 4 jobs"


def test_a_target_with_locks_writes_what_it_locks() -> None:
    target = read(target_text())

    assert deployment.written(target) == deployment.places(target) == ("r0", "r1")
    assert deployment.work(target) == "register: 5 clients, 2 resources"


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            'duration = "9s"\nevery = "10s"\n',
            'every = "10s": gives no job in a run of 9s: make it shorter, or workload.duration longer',
        ),
        (
            'duration = "200ms"\n',
            'duration = "200ms": is too short for a job: make it longer than workload.every (300ms)',
        ),
    ],
)
def test_a_run_without_a_job_is_refused(times: str, said: str) -> None:
    assert (
        error_in(target_text(f'[workload]\nkind = "run"\n{times}')).partition(": ")[2] == f"workload.{said}"
    )


def test_one_job_is_enough() -> None:
    target = read(target_text(f'{JOBS}every = "9s"'))

    assert deployment.written(target) == ("q0-0", "q1-0")


def test_a_fault_must_outlive_the_lease_of_an_execution() -> None:
    assert read(target_text(JOBS)).require == {"stale_writes_attempted": 0, "executions_past_lease": 1}
    assert read(
        target_text(JOBS) + "[require]\nstale_writes_attempted = 2\nexecutions_past_lease = 0\n"
    ).require == {
        "stale_writes_attempted": 2,
        "executions_past_lease": 0,
    }


def test_a_pause_of_a_worker_has_no_dangerous_moment_of_a_lock() -> None:
    target = read(target_text(JOBS, SUPERSEDED))

    assert hazard_table(target, target.faults) is None


def test_the_fault_that_a_run_without_any_lacks_fits_jobs() -> None:
    (advice,) = warnings(read(target_text(JOBS)))
    fault = advice[advice.index("{") :]

    assert not list(warnings(read(f"faults = [{fault}]\n{target_text(JOBS)}")))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (target_text('[workload]\nevery = "1s"'), "workload.every"),
        (target_text('[client]\ncommand = ["worker"]\nside = "queue"'), "client.side"),
        (target_text(f'{JOBS}every = "1ms"'), "workload.every"),
        (target_text(f"{JOBS}writes = 1"), "workload.writes"),
        (
            target_text(
                JOBS,
                storage='kind="postgres"\nfencing="upsert"\npolicy="inclusive"\nfence_on_acquire=true',
            ),
            "storage.fence_on_acquire",
        ),
        (target_text(JOBS, storage='kind="etcd"\nfencing="lock-key"\npolicy="inclusive"'), "storage.fencing"),
        (target_text(JOBS, f'{PAUSE}at="renewing"\nlasts="3s"'), "faults.0.at"),
        (target_text(JOBS, f'{PAUSE}every="4s"\nlasts="3s"\nwhen="second-waiter"'), "faults.0.when"),
        (target_text(JOBS, f'{PAUSE}hazards="all"'), "faults.0.hazards"),
        (target_text(JOBS, SUPERSEDED.replace('"holder"', '"holder:r0"')), "faults.0.target"),
        (target_text(JOBS, SUPERSEDED, "[require]\nhazards = 1"), "require.hazards"),
    ],
)
def test_what_jobs_do_not_have_is_refused(text: str, key: str) -> None:
    assert error_in(text).partition(": ")[2].startswith(f"{key} = ")
