"""What a report says and draws of jobs: executions as bars with names, and how often jobs ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.verdict.judge import judge
from harness.report import advice, wording
from harness.report.answer import answer
from harness.report.chart_data import drawing, keep
from harness.report.effort import effort
from harness.report.headline import RunAnswer
from harness.report.lanes import lanes
from harness.report.recorded_run import load
from harness.report.timeline import timeline
from tests.support.job_events import Event, execute, fault, heartbeat, history, lines, submit, take
from tests.support.report_folder import run_folder

RAN = [execute("a", 1, 10, 50), fault("client:1", 15, 45)]
NEEDED = {"stale_writes_attempted": 0, "executions_past_lease": 1}


def answered(*operations: list[Event]) -> tuple[RunAnswer, str]:
    run = history(*operations, require=NEEDED)
    document = judge(run).documented()
    return answer(document, "t", run), effort(document)


def test_a_good_run_says_how_often_jobs_ran_under_which_faults() -> None:
    said, tried = answered(*RAN)

    assert said.happened == "1 execution, 1 under a fault that outlived the lease"
    assert said.matters == advice.NO_JOB_TWICE
    assert tried == "1 pause; 1 execution, 1 under a fault that outlived the lease"


def test_a_run_of_jobs_counts_no_grants_of_a_lock_that_it_did_not_record() -> None:
    document = judge(history(*RAN, require=NEEDED)).documented()
    shown = {row.title for row in wording.coverage(document, by_tokens=True)}

    assert {"Executions", "Pauses"} <= shown
    assert shown.isdisjoint({"Grants", "Pauses past lease", "Grants to others", "Late writes attempted"})


@pytest.mark.parametrize(
    ("operations", "remedy"),
    [(RAN[:1], advice.EXERCISE_JOBS), ([RAN[0], fault("client:1", 15, 16)], advice.EXERCISE_IT_MORE)],
)
def test_a_run_without_a_long_fault_tested_no_queue(operations: list[list[Event]], remedy: str) -> None:
    said, tried = answered(*operations)

    assert said.label == "Not tested"
    assert (said.matters, said.remedy, said.terms) == (advice.LEASE_KEPT, remedy, "")
    assert tried.endswith("1 execution, none under a fault that outlived the lease")


def test_operations_on_jobs_are_drawn_with_the_name_of_their_job(tmp_path: Path) -> None:
    text = "".join(
        lines(
            [
                submit("job 7", 1, 2),
                take(1, 3, 4, "ok", job="job 7"),
                execute("job 7", 1, 5, 9),
                heartbeat(1, 5, 7),
                take(2, 3, 9),
            ]
        )
    )
    run = load(run_folder(tmp_path, text))
    assert run.history is not None
    laid_out = timeline(run, lanes(run.history))
    assert laid_out is not None

    drawn = drawing(laid_out, (), lanes(run.history), keep(laid_out, ()))["operations"]

    kinds = [drawn["kinds"][kind] for kind in drawn["kind"]]
    assert sorted(zip(kinds, map(str, drawn["value"]), strict=True)) == [
        ("execute", "job 7"),
        ("heartbeat", "None"),
        ("submit", "job 7"),
        ("take", "None"),
        ("take", "job 7"),
    ]


def test_what_was_asked_and_answered_about_jobs_is_in_words() -> None:
    operations = history(
        submit("a", 1, 2),
        take(1, 3, 4, "ok", job="a"),
        [{**each, "token": 2} for each in execute("a", 1, 5, 9)],
        heartbeat(1, 5, 7),
    ).operations

    assert [(wording.action(each), wording.answer(each)) for each in operations] == [
        ("submit a to q0", "accepted"),
        ("ask q0 for a job", "got a"),
        ("execute a of q0, attempt 2", "its end was acknowledged"),
        ("say that an execution of q0 is in progress", "done"),
    ]
