"""Double-run: a job that must run once ran twice at once, or again after its end was acknowledged."""

from __future__ import annotations

import pytest

from checkers.facts.evidence import gather
from checkers.history.records import History
from checkers.rules.double_runs import double_runs
from checkers.verdict.judge import judge
from tests.oracles import jobs as definitions
from tests.support.differential import CASES, disagreements, random_histories
from tests.support.job_events import Event, did, execute, fault, heartbeat, history
from tests.support.job_histories import random_job_history
from tests.support.literal_histories import judged
from tests.support.selection import nightly

SECOND = 1_000_000_000


def accused(*operations: list[Event]) -> list[tuple[int, ...]]:
    """The calls of each accused execution, and of what shows it."""
    found = double_runs(gather(history(*operations)))
    return [(each.accused.called, *(op.called for op in each.because)) for each in found]


@pytest.mark.parametrize(
    ("first", "begun", "is_wrong"),
    [
        (execute("a", 1, 1, 9, ended=6), 5, True),
        (execute("a", 1, 1, 9, ended=6), 6, False),  # ended, but not yet acknowledged
        (execute("a", 1, 1, 9, ended=6), 9, False),
        (execute("a", 1, 1, 9, ended=6), 10, True),
        (execute("a", 1, 1, 9, "fail", ended=6), 5, True),
        (execute("a", 1, 1, 9, "fail", ended=6), 6, False),
        (execute("a", 1, 1, 9, "fail", ended=6), 10, False),  # a retry
        (execute("a", 1, 1, 9, "fail"), 5, False),
        (execute("a", 1, 1, 9, "info"), 5, False),
        (execute("a", 1, 1, 9, "info", ended=8), 5, False),  # it died before it was seen to be dead
        (execute("a", 1, 1), 5, False),
        (execute("b", 1, 1, 9), 5, False),
    ],
)
def test_the_second_execution_must_come_after_an_end(
    first: list[Event], begun: int, *, is_wrong: bool
) -> None:
    assert accused(first, execute("a", 2, begun, 20)) == ([(begun, 1)] if is_wrong else [])


@pytest.mark.parametrize(("begun", "is_wrong"), [(5, True), (6, False)])
def test_a_heartbeat_shows_an_execution_until_its_call(begun: int, *, is_wrong: bool) -> None:
    seen = [execute("a", 1, 1, 30, "info"), heartbeat(1, 1, 3, 4), heartbeat(1, 1, 6, 9)]

    assert accused(*seen, execute("a", 2, begun, 20)) == ([(begun, 1, 6)] if is_wrong else [])


def test_a_heartbeat_without_an_answer_shows_nothing() -> None:
    assert accused(execute("a", 1, 1), heartbeat(1, 1, 8, 9, "info"), execute("a", 2, 5, 20)) == []


def test_another_execution_that_beats_shows_nothing() -> None:
    others = [execute("b", 1, 2, 30), heartbeat(1, 2, 8)]

    assert accused(execute("a", 3, 1), *others, execute("a", 2, 5, 20)) == []


def test_an_overlap_leads_and_then_the_latest() -> None:
    long, acknowledged, short = execute("a", 1, 1, 90), execute("a", 2, 2, 3), execute("a", 3, 4, 20)

    assert accused(long, acknowledged, short, execute("a", 4, 10, 11))[-1] == (10, 4)
    assert accused(long, acknowledged, execute("a", 4, 10, 11))[-1] == (10, 1)
    assert accused(acknowledged, execute("a", 5, 5, 6), execute("a", 4, 10, 11))[-1] == (10, 5)


def test_an_empty_execution_at_the_begin_of_another_is_none() -> None:
    empty, other = execute("a", 1, 5, 5), execute("a", 2, 5, 9)

    assert accused(empty, other) == []
    assert accused(other, empty) == []
    assert accused(execute("a", 1, 4, 9), execute("a", 2, 5, 5)) == [(5, 4)]


@pytest.mark.parametrize("count", [CASES, *nightly(100_000)])
def test_agrees_with_the_definition_on_random_histories(count: int) -> None:
    def fast(run: History) -> dict[int, int]:
        return {each.accused.index: each.because[0].index for each in double_runs(gather(run))}

    def slow(run: History) -> dict[int, int]:
        return definitions.double_runs(run.operations)

    assert disagreements(random_histories(random_job_history, 1, count), fast, slow) == []


def test_its_proof_has_both_executions_and_the_heartbeat() -> None:
    run = history(
        execute("q0-1", 1, SECOND, 9 * SECOND, "info"),
        heartbeat(1, SECOND, 2 * SECOND),
        heartbeat(1, SECOND, 6 * SECOND),
        execute("q0-1", 2, 4 * SECOND, 5 * SECOND),
        fault("client:1", 2 * SECOND, 5 * SECOND),
        execute("q0-2", 3, 4 * SECOND, 5 * SECOND),
    )

    (finding,) = judge(run).findings

    assert finding.account.doubt == ""
    assert finding.account.rule == "still-running"
    assert finding.account.cause is not None
    assert (finding.account.cause.fault, finding.account.cause.certain) == ("pause", False)
    assert len(finding.account.operations) == len(("first", "heartbeat", "again")) * 2


@pytest.mark.parametrize(
    ("began", "healed", "is_cause"),
    [(5, 14, False), (5, 15, True), (18, 19, False), (18, 20, True), (21, 40, False), (1, 3, False)],
)
def test_a_fault_is_the_cause_if_it_lasts_for_a_lease_or_until_then(
    began: int, healed: int, *, is_cause: bool
) -> None:
    run = history(execute("q0-1", 1, 4, 40), execute("q0-1", 2, 20, 30), fault("client:1", began, healed))

    (finding,) = judge(run).findings

    assert (finding.account.cause is not None) == is_cause


def test_a_stale_result_follows_from_the_double_run() -> None:
    verdict = judged("double-run/and-its-result-is-stale")

    ran_twice, stale = verdict.findings

    assert (ran_twice.anomaly, stale.anomaly) == ("double-run", "stale-write")
    assert stale.caused_by == ran_twice


def test_a_result_that_was_stale_before_has_another_cause() -> None:
    written = [
        [
            each | {"resource": "a"}
            for each in did("write", process, called, called + 1, token=token, value=token)
        ]
        for process, called, token in ((3, 2, 2), (4, 4, 1))
    ]

    stale = next(
        each
        for each in judge(history(*written, execute("a", 1, 6, 9), execute("a", 2, 7, 9))).findings
        if each.anomaly == "stale-write"
    )

    assert stale.caused_by is None


def test_of_two_executions_with_one_attempt_the_first_worker_was_late() -> None:
    first, again = (
        did("execute", worker, called, 40, job="q0-1", owner=str(worker), token=1, answer={"ended": 40})
        for worker, called in ((1, 5), (2, 20))
    )

    (finding,) = judge(history(first, again, fault("client:1", 6, 30), fault("client:2", 7, 19))).findings

    assert finding.account.cause is not None
    assert finding.account.cause.target == "client:1"


@pytest.mark.parametrize("ended", [40, 8])
def test_a_fault_that_let_an_older_attempt_begin_late_is_the_cause(ended: int) -> None:
    late = did("execute", 2, 12, 20, job="q0-1", owner="b", token=1, answer={"ended": 19})
    newer = did("execute", 1, 5, ended, job="q0-1", owner="a", token=2, answer={"ended": ended})

    (finding,) = judge(history(newer, late, fault("client:2", 3, 11), fault("client:1", 6, 30))).findings

    assert finding.account.cause is not None
    assert finding.account.cause.target == "client:2"


def test_after_an_acknowledged_end_no_fault_on_its_worker_is_the_cause() -> None:
    (finding,) = judge(
        history(execute("a", 1, 1, 5), execute("a", 2, 30, 40), fault("client:1", 3, 35))
    ).findings

    assert finding.account.rule == "acknowledged"
    assert finding.account.cause is None


@pytest.mark.parametrize(
    ("began", "healed", "is_cause"),
    [(3, 29, True), (5, 20, True), (3, 19, False), (6, 29, False), (1, 4, False)],
)
def test_a_worker_that_was_stopped_while_the_job_ended_was_late(
    began: int, healed: int, *, is_cause: bool
) -> None:
    run = history(execute("a", 1, 1, 5), execute("a", 2, 30, 40), fault("client:2", began, healed))

    (finding,) = judge(run).findings

    assert finding.account.rule == "acknowledged"
    assert (finding.account.cause is not None) == is_cause
