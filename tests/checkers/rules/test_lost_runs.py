"""Lost-run: a job that was accepted and due never began, although a worker was idle."""

from __future__ import annotations

import pytest

from checkers.facts.evidence import gather
from checkers.history.faults import faults_of
from checkers.history.records import History
from checkers.rules.lost_runs import lost_runs
from checkers.verdict.judge import judge
from tests.oracles import jobs as definitions
from tests.support.differential import CASES, disagreements, random_histories
from tests.support.job_events import GRACE, LEASE, Event, execute, fault, history, submit, take
from tests.support.job_histories import random_job_history
from tests.support.selection import nightly

LONG = LEASE + GRACE
LOST = submit("a", 1, 2, due=5)


def lost(*operations: list[Event], **header: object) -> list[tuple[int, ...]]:
    """The calls of each lost submit, and of the take of the idle worker."""
    found = lost_runs(gather(history(*operations, **header)))
    return [(each.accused.called, *(op.called for op in each.because)) for each in found]


@pytest.mark.parametrize(
    ("job", "idle", "is_lost"),
    [
        (LOST, take(1, 3, 5 + LONG + 1), True),
        (LOST, take(1, 3, 5 + LONG), False),
        (submit("a", 1, 8, due=5), take(1, 3, 8 + LONG + 1), True),  # accepted later than it was due
        (submit("a", 1, 8, due=5), take(1, 3, 8 + LONG), False),
        (submit("a", 0, 0), take(1, 0, 1 + LONG), True),
        (submit("a", 0, 0), take(1, 0, LONG), False),
        (LOST, take(1, 9, 9 + LONG + 1), True),
        (LOST, take(1, 9, 9 + LONG), False),
        (LOST, take(1, 3, 90, "ok", job="b"), True),
        (LOST, take(1, 3, 90, "ok", job="a"), False),
        (LOST, take(1, 3), False),
        (submit("a", 1, 2, outcome="info"), take(1, 3, 90), False),
        (submit("a", 1, 2, outcome="fail"), take(1, 3, 90), False),
    ],
)
def test_a_job_is_lost_if_a_worker_waits_for_too_long(
    job: list[Event], idle: list[Event], *, is_lost: bool
) -> None:
    assert lost(job, idle) == ([(job[0]["time"], idle[0]["time"])] if is_lost else [])


def test_a_job_that_began_is_not_lost_whatever_became_of_it() -> None:
    assert lost(LOST, take(1, 3, 90), execute("a", 2, 95)) == []
    assert lost(LOST, take(1, 3, 90), execute("b", 2, 95)) == [(1, 3)]


@pytest.mark.parametrize(("until", "is_lost"), [(5, False), (4, True)])
def test_a_take_with_an_unknown_end_may_have_begun_it(until: int, *, is_lost: bool) -> None:
    unknown = take(2, 3, until, "info")
    job = submit("a", 1, 2, due=5 + GRACE)

    assert lost(job, unknown, take(1, 6, 90)) == ([(1, 6)] if is_lost else [])


@pytest.mark.parametrize(("called", "is_lost"), [(5 + GRACE, False), (6 + GRACE, True)])
def test_a_take_may_get_a_job_that_is_not_acknowledged_yet(called: int, *, is_lost: bool) -> None:
    unknown = take(2, 3, 5, "info")
    job = submit("a", called, 40, due=0)

    assert lost(job, unknown, take(1, 41, 90)) == ([(called, 41)] if is_lost else [])


def test_a_take_may_get_a_job_that_is_due_at_the_very_start() -> None:
    job, idle = submit("a", 0, 0), take(1, 1, 90)

    assert lost(job, idle, grace=0) == [(0, 1)]
    assert lost(job, idle, take(2, 0, 0, "info"), grace=0) == []


@pytest.mark.parametrize(("until", "found"), [(5 + GRACE + 1, [(1, 3)]), (5 + GRACE, [])])
def test_without_a_lease_a_job_may_only_wait_for_the_grace(until: int, found: list[tuple[int, int]]) -> None:
    assert lost(LOST, take(1, 3, until), ttl=None) == found


@pytest.mark.parametrize(
    ("hit", "is_lost"),
    [
        (fault("client:1", 30, 31), False),
        (fault("queue", 30, 31, "restart"), False),
        (fault("storage:a", 30, 31, "restart"), False),
        (fault("client:2", 30, 31), False),  # it waits too, and may have got the job
        (fault("client:3", 30, 31), True),
        (fault("client:2", 60, 61), True),
    ],
)
def test_no_fault_may_be_in_force_on_whoever_may_have_it(hit: list[Event], *, is_lost: bool) -> None:
    waiting = [take(1, 6, 6 + LONG + 8), take(2, 6, 40)]

    assert lost(LOST, *waiting, hit) == ([(1, 6)] if is_lost else [])


def test_workers_stopped_before_it_was_due_may_have_it_in_turn() -> None:
    stopped = [take(2, 3, 90), take(3, 3, 90), fault("client:2", 4, 80), fault("client:3", 4, 80)]

    assert lost(LOST, take(1, 3, 82), *stopped) == []
    assert lost(LOST, take(1, 3, 80 + LONG + 1), *stopped) == [(1, 3)]


def test_without_the_number_of_clients_any_fault_clears_the_queue() -> None:
    assert lost(LOST, take(1, 3, 60), fault("client:7", 30, 31), clients=None) == []


@pytest.mark.parametrize("count", [CASES, *nightly(100_000)])
def test_agrees_with_the_definition_on_random_histories(count: int) -> None:
    def fast(run: History) -> set[int]:
        return {each.accused.index for each in lost_runs(gather(run))}

    def slow(run: History) -> set[int]:
        return definitions.lost_runs(run.operations, run.header, faults_of(run.faults))

    assert disagreements(random_histories(random_job_history, 2, count), fast, slow) == []


def test_its_proof_has_the_submit_and_the_take_of_an_idle_worker() -> None:
    run = history(LOST, take(1, 6, 50), take(2, 5, 40), fault("queue", 3, 4, "restart"))

    (finding,) = judge(run).findings

    assert (finding.account.rule, finding.account.doubt) == ("never-began", "")
    assert finding.account.cause is not None
    assert finding.account.cause.target == "queue"
    assert len(finding.account.operations) == len(("submit", "take")) * 2
