"""Reading operations on jobs: what they carry, and what no worker can have recorded."""

from __future__ import annotations

import pytest

from checkers.history.records import Outcome
from checkers.text.errors import HistoryError
from tests.support.job_events import Event, did, execute, history, submit, take


def test_operations_on_jobs_carry_what_rules_ask_for() -> None:
    sent, taken, ran, beat = history(
        submit("q0-1", 1, 2, due=9),
        take(1, 3, 10, "ok", job="q0-1"),
        did("execute", 1, 11, 20, job="q0-1", owner="a", token=3, answer={"ended": 19}),
        did("heartbeat", 11, 15, 16, owner="a"),
    ).operations

    assert (sent.f, sent.resource, sent.job, sent.due, sent.returned) == ("submit", "q0", "q0-1", 9, 2)
    assert (taken.f, taken.job, taken.returned) == ("take", "q0-1", 10)
    assert (ran.job, ran.owner, ran.token, ran.ended, ran.returned) == ("q0-1", "a", 3, 19, 20)
    assert (beat.f, beat.owner, beat.called) == ("heartbeat", "a", 15)


def test_an_open_operation_has_no_answer() -> None:
    ran, taken = history(execute("q0-1", 1, 5), take(2, 6)).operations

    assert (ran.outcome, ran.ended, ran.job) == (Outcome.INFO, None, "q0-1")
    assert (taken.outcome, taken.job, taken.learned) == (Outcome.INFO, None, None)


def test_a_failed_execution_may_have_ended_at_an_unknown_time() -> None:
    known, unknown = history(
        execute("q0-1", 1, 5, 9, "fail", ended=7), execute("q0-1", 2, 10, 12, "fail")
    ).operations

    assert (known.ended, unknown.ended) == (7, None)


RAN = "ended 4 lies outside of its operation, which ran from 5 to 9"


@pytest.mark.parametrize(
    ("problem", "operations"),
    [
        ("4: job 'q0-1' is also submitted at line 2", [submit("q0-1", 1, 2), submit("q0-1", 3, 4)]),
        (
            "4: owner '1-5' is also used at line 2; each owner is used once",
            [execute("q0-1", 1, 5, 6), did("execute", 2, 7, job="q0-2", owner="1-5")],
        ),
        ("3: an ok take without a job", [take(1, 3, 4, "ok")]),
        ("3: an ok execute without `ended`", [did("execute", 1, 5, 6, job="q0-1", owner="a")]),
        (f"3: {RAN}", [execute("q0-1", 1, 5, 9, ended=4)]),
        (f"3: {RAN}", [execute("q0-1", 1, 5, 9, "info", ended=4)]),
        (
            "3: job is 'q0-2', but the operation was invoked with 'q0-1' at line 2",
            [did("execute", 1, 5, 9, job="q0-1", owner="a", answer={"job": "q0-2", "ended": 8})],
        ),
        (
            "3: due is 4, but the operation was invoked with 3 at line 2",
            [did("submit", 1, 5, 9, job="q0-1", due=3, answer={"due": 4})],
        ),
    ],
)
def test_what_no_worker_can_have_recorded_is_refused(problem: str, operations: list[list[Event]]) -> None:
    with pytest.raises(HistoryError) as refused:
        history(*operations)

    assert problem in str(refused.value).replace('"', "'")
