"""What the runs of a night mean together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import pytest

from harness.campaign.assessment import Assessment, assess, run_of
from harness.campaign.campaign_file import Quarantine
from harness.campaign.execution import Finished
from harness.campaign.status import RunOutcome, Status
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict

STALE = verdict("Client 0 wrote '0-1.0' too late")


def assessed(
    *runs: Finished,
    before: Mapping[str, Sequence[RunOutcome]] | None = None,
    quarantine: tuple[Quarantine, ...] = (),
    planned: int = 0,
) -> Assessment:
    jobs = [each.job for each in runs if not each.job.reproduction]
    jobs += [job(repeat=len(jobs) + number + 1) for number in range(planned)]
    return assess(plan(*jobs), runs, before=before or {}, quarantine=quarantine, today=TODAY)


def known_failure(until: dt.date) -> Quarantine:
    fingerprint = run_of(finished(job(), 1, STALE), {}).fingerprint
    return Quarantine(fingerprint=fingerprint or "", reason="known", until=until)


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (0, RunOutcome.PASSED),
        (1, RunOutcome.FAILED),
        (2, RunOutcome.UNKNOWN),
        (3, RunOutcome.INFRASTRUCTURE),
        (4, RunOutcome.INFRASTRUCTURE),
        (-9, RunOutcome.INFRASTRUCTURE),
    ],
)
def test_an_exit_code_is_an_outcome(exit_code: int, outcome: RunOutcome) -> None:
    assert run_of(finished(job(), exit_code), {}).outcome is outcome


def test_the_headline_of_a_run_that_passed_begins_with_its_verdict() -> None:
    doubt = "not exercised: no kill was observed from beginning to end: run longer, or with faults"
    expected = verdict("Client 0 wrote too late", as_expected=True, reasons=[doubt])

    passed = run_of(finished(job(), 0, expected), {})

    assert passed.headline == f"invalid, as expected; {doubt}"


@pytest.mark.parametrize("exit_code", [3, 4])
def test_a_night_keeps_the_exit_code_of_a_run_that_could_not_be_made(exit_code: int) -> None:
    assert assessed(finished(job()), finished(job(), exit_code)).exit_code(allow_unknown=True) == exit_code


def test_a_failure_says_how_often_it_was_reproduced() -> None:
    night = assessed(
        finished(job(), 1, STALE),
        finished(job(reproduction=1), 1, STALE),
        finished(job(reproduction=2)),
        finished(job(reproduction=3), 1, STALE),
        finished(job(reproduction=4), 3),  # could not be made, so it is not counted
    )

    (result,) = night.cells
    assert result.reproduced(result.failures[0]) == "reproduced 2 of 3"
    assert len(result.runs) == 1
    assert result.status is Status.NEW


def test_reproductions_do_not_count_as_runs() -> None:
    night = assessed(finished(job(), 1, STALE), finished(job(reproduction=1), 3))

    assert night.exit_code(allow_unknown=False) is ExitCode.VIOLATION
    assert (night.cells[0].rate.failed, night.cells[0].rate.runs) == (1, 1)


def test_a_quarantined_failure_does_not_turn_the_night_red() -> None:
    night = assessed(finished(job(), 1, STALE), quarantine=(known_failure(TODAY),))

    assert night.cells[0].status is Status.QUARANTINED
    assert night.exit_code(allow_unknown=False) is ExitCode.AS_EXPECTED
    assert not night.notices


def test_an_expired_quarantine_does_and_is_named() -> None:
    yesterday = TODAY - dt.timedelta(days=1)

    night = assessed(finished(job(), 1, STALE), quarantine=(known_failure(yesterday),))

    assert night.cells[0].status is Status.NEW
    assert night.exit_code(allow_unknown=False) is ExitCode.VIOLATION
    assert night.notices == (f"a quarantine has expired: known (until {yesterday})",)


def test_a_quarantine_of_an_earlier_version_is_named() -> None:
    old = known_failure(TODAY).model_copy(update={"fingerprint": "9a1c0f63b2de"})

    night = assessed(finished(job(), 1, STALE), quarantine=(old,))

    assert night.cells[0].status is Status.NEW
    assert "9a1c0f63b2de is a fingerprint of an earlier version" in night.notices[0]


@pytest.mark.parametrize(("allowed", "code"), [(False, ExitCode.UNKNOWN), (True, ExitCode.AS_EXPECTED)])
def test_an_unknown_run_counts_unless_it_is_allowed(allowed: bool, code: ExitCode) -> None:
    assert assessed(finished(job(), 2)).exit_code(allow_unknown=allowed) is code


def test_no_runs_at_all_means_nothing_was_selected() -> None:
    night = assessed(planned=2)

    assert night.cells[0].not_run == 2
    assert night.exit_code(allow_unknown=False) is ExitCode.NOTHING_SELECTED


def test_one_clean_run_after_failures_is_not_called_a_fix() -> None:
    night = assessed(finished(job()), before={"a": [RunOutcome.FAILED] * 3})

    assert night.cells[0].status is Status.NOT_SEEN
    assert str(night.cells[0].clean).startswith("1 clean run after 3 of 3 failed: the chance of that is 33%")


def test_a_passing_cell_has_nothing_to_say_of_clean_runs() -> None:
    night = assessed(finished(job()), before={"a": [RunOutcome.FAILED] * 30 + [RunOutcome.PASSED] * 3})

    assert night.cells[0].status is Status.PASSING
    assert night.cells[0].clean is None


@pytest.mark.parametrize(
    ("error", "message", "sentence"),
    [
        (
            "etcd-1 is not ready",
            "a: etcd-1 is not ready; its last log lines:\n  | a: x",
            "etcd-1 is not ready",
        ),
        ("it cannot run here:", "a: it cannot run here:\nfirst get this", "it cannot run here"),
        ("two\nlines", "two lines", "two\\nlines"),
        ("", "a: engine local\n  | Traceback\nthis is a bug in Fencepost", "this is a bug in Fencepost"),
        ("", "", "it ended without a verdict"),
    ],
    ids=["log lines", "advice", "a stranger's", "a bug", "nothing"],
)
def test_a_run_without_a_verdict_has_its_errors_sentence(error: str, message: str, sentence: str) -> None:
    assert run_of(finished(job(), 3, message=message, error=error), {}).headline == sentence
