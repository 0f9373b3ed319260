"""Executions of jobs: which faults outlived their lease, and what a run with jobs counts."""

from __future__ import annotations

import pytest

from checkers.facts.evidence import gather
from checkers.facts.executions import executions_of, executions_past_lease
from checkers.verdict.judge import judge
from checkers.vocabulary.counts import OF_JOBS
from checkers.vocabulary.verdict import Validity
from tests.support.job_events import LEASE, Event, execute, fault, heartbeat, history, submit, take

RAN = execute("a", 1, 10, 50)


@pytest.mark.parametrize(
    ("ran", "hit", "count"),
    [
        (RAN, fault("client:1", 15, 15 + LEASE + 1), 1),
        (RAN, fault("client:1", 15, 15 + LEASE), 0),
        (RAN, fault("client:1", 5, 10 + LEASE + 1), 1),  # the lease began with the execution
        (RAN, fault("client:1", 5, 10 + LEASE), 0),
        (RAN, fault("client:1", 49 - LEASE, 90), 1),
        (RAN, fault("client:1", 50 - LEASE, 90), 0),  # it ended within its lease
        (RAN, fault("client:2", 15, 45), 0),
        (RAN, fault("client:1", 15), 0),  # never seen healed
        (RAN, fault("client:1", 15, 45, "partition"), 1),
        (RAN, fault("queue:a", 15, 45, "restart"), 1),
        (RAN, fault("lock", 15, 45, "restart"), 1),
        (RAN, fault("storage", 15, 45, "restart"), 0),
        (execute("a", 1, 10), fault("client:1", 15, 45), 1),
        (execute("a", 1, 10, 50, "info", ended=16), fault("client:1", 15, 45), 0),
    ],
)
def test_a_fault_outlives_the_lease_of_an_execution(ran: list[Event], hit: list[Event], count: int) -> None:
    assert executions_past_lease(gather(history(ran, hit))) == count


def test_without_a_lease_nothing_outlives_it() -> None:
    assert executions_past_lease(gather(history(RAN, fault("client:1", 15, 45), ttl=None))) == 0


def test_an_execution_counts_once_whatever_hit_it() -> None:
    run = gather(history(RAN, fault("client:1", 15, 45), fault("queue", 15, 45, "restart")))

    assert executions_past_lease(run) == 1


def test_jobs_are_counted_only_where_there_are_any() -> None:
    submits = [submit("a", 1, 2), submit("b", 3, 4, outcome="fail")]

    counts = judge(history(*submits, take(2, 3, 4, "ok", job="a"), execute("a", 2, 5, 6))).coverage

    assert [counts[name] for name in OF_JOBS] == [1, 1, 0]
    assert judge(history(submit("a", 1, 2))).coverage["jobs_submitted"] == 1
    assert not set(OF_JOBS) & set(judge(history()).coverage)


@pytest.mark.parametrize(
    ("began", "count"),
    [(3, 0), (6, 1), (45, 1), (55, 0)],  # before its take, in it, in its execution, after that
)
def test_a_fault_on_a_worker_counts_while_it_waits_or_executes(began: int, count: int) -> None:
    run = history(take(1, 5, 29, "ok", job="a"), execute("a", 1, 31, 50), fault("client:1", began, began + 1))

    assert judge(run).coverage["pauses"] == count


def test_a_run_with_jobs_is_valid_if_a_fault_outlived_a_lease() -> None:
    require = {"stale_writes_attempted": 0, "executions_past_lease": 1}

    challenged = judge(history(RAN, fault("client:1", 15, 45), require=require))
    too_easy = judge(history(RAN, require=require))

    assert challenged.validity is Validity.VALID
    assert too_easy.validity is Validity.UNKNOWN
    assert "no fault outlived the lease of an execution" in too_easy.reasons[0]


@pytest.mark.parametrize(("called", "end", "seen"), [(10, 10, None), (11, 11, 11)])
def test_only_a_heartbeat_after_its_call_shows_that_an_execution_went_on(
    called: int, end: int, seen: int | None
) -> None:
    run = gather(history(execute("a", 1, 10), heartbeat(1, 10, called, called + 1)))

    ((found,),) = executions_of(run).values()

    assert (found.end, found.seen and found.seen.called) == (end, seen)
