"""What the runs of a night mean, together and for a cell, and how sure that is."""

import datetime as dt
import itertools
import random
import re
from collections.abc import Mapping, Sequence

import pytest

from harness.campaign.assessment import Assessment, assess, run_of
from harness.campaign.campaign_file import Quarantine
from harness.campaign.execution import Finished
from harness.campaign.status import CleanRuns, Rate, RunOutcome, Status, clean_runs, rate, status
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict
from tests.support.repository import ROOT

LETTERS = {
    "p": RunOutcome.PASSED,
    "f": RunOutcome.FAILED,
    "u": RunOutcome.UNKNOWN,
    "i": RunOutcome.INFRASTRUCTURE,
    "q": RunOutcome.QUARANTINED,
}


def outcomes(letters: str) -> list[RunOutcome]:
    return [LETTERS[letter] for letter in letters]


@pytest.mark.parametrize(
    ("before", "tonight", "expected"),
    [
        ("", "", Status.NOT_RUN),
        ("ppp", "", Status.NOT_RUN),
        ("", "p", Status.PASSING),
        ("ppp", "pp", Status.PASSING),
        ("", "f", Status.NEW),
        ("ppp", "f", Status.NEW),
        ("pppf", "f", Status.STILL_FAILING),
        ("ff", "f", Status.STILL_FAILING),
        ("ffpp", "f", Status.REGRESSED),
        ("pfpp", "f", Status.FLAKY),
        ("ppp", "pf", Status.FLAKY),
        ("f", "p", Status.NOT_SEEN),
        ("fff", "ppp", Status.NOT_SEEN),
        ("fff" + "p" * 10, "pp", Status.NOT_SEEN),
        ("fff" + "p" * 10, "ppp", Status.FIXED),
        ("p" * 27 + "fff" + "p" * 10, "ppp", Status.FIXED),
        ("f" * 30, "pp", Status.FIXED),
        ("f" * 30 + "pp", "p", Status.PASSING),
        ("f" + "p" * 29, "p", Status.NOT_SEEN),
        ("f" + "p" * 30, "p", Status.PASSING),
        ("pfp", "p", Status.FLAKY),
        ("pfpfffffff", "p" * 9, Status.FIXED),
        ("fff", "pq", Status.QUARANTINED),
        ("q" * 30, "pp", Status.FIXED),
        ("fui", "f", Status.STILL_FAILING),
        ("ppp", "u", Status.UNKNOWN),
        ("ppp", "ui", Status.INFRASTRUCTURE),
        ("ppp", "ip", Status.PASSING),
        ("fff", "q", Status.QUARANTINED),
    ],
)
def test_a_status_compares_tonight_with_earlier_nights(before: str, tonight: str, expected: Status) -> None:
    assert status(outcomes(tonight), outcomes(before)) is expected


def test_a_failure_beyond_the_last_thirty_runs_is_forgotten() -> None:
    assert status(outcomes("f"), outcomes("f" + "p" * 30)) is Status.NEW


@pytest.mark.parametrize(
    ("failed", "runs", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.278),
        (1, 10, 0.018, 0.404),
        (15, 30, 0.331, 0.669),
        (10, 10, 0.722, 1.0),
    ],
)
def test_a_rate_has_the_interval_of_wilson(failed: int, runs: int, low: float, high: float) -> None:
    assert Rate(failed, runs).interval == pytest.approx((low, high), abs=0.001)


@pytest.mark.parametrize(
    ("before", "tonight", "said"),
    [
        ("p" * 28, "ff", "2 of 2 failed tonight"),  # a new failure
        ("p" * 28, "pf", "1 of 2 failed tonight"),  # flaky since tonight
        ("pppff", "f", "3 of 3 failed"),  # still failing
        ("ffppp", "f", "1 of 1 failed tonight"),  # regressed
        ("pfff", "pp", "none of 2 failed tonight"),  # not seen
        ("f" * 30, "pp", "none of 2 failed tonight"),  # fixed
        ("fffpp", "pp", "none of 4 failed"),
        ("ppp", "p", "none of 4 failed"),
        ("ppppfpfp", "fp", "3 of 6 failed"),  # flaky since its first failure
        ("pppffuif", "u", "3 of 3 failed"),  # undecided: as before
        ("p" * 20 + "fp" * 20, "fp", "15 of 30 failed (33%–67%)"),
        ("f" * 40, "ff", "30 of 30 failed (89%–100%)"),
        ("", "fp" * 5, "5 of 10 failed tonight (24%–76%)"),
    ],
)
def test_a_rate_is_counted_since_the_status_last_changed(before: str, tonight: str, said: str) -> None:
    assert str(rate(outcomes(tonight), outcomes(before))) == said


def test_the_chance_is_the_share_of_orders_that_end_with_clean_runs() -> None:
    orders = list(itertools.permutations("ffpp" + "ppp"))
    clean_at_the_end = sum("f" not in order[-3:] for order in orders)

    assert CleanRuns(clean=3, failed=3, runs=5).chance == pytest.approx(clean_at_the_end / len(orders))


def test_a_failure_that_chance_can_hide_is_rarely_called_fixed() -> None:
    rng = random.Random(1)
    called = 0
    for _ in range(2000):
        outcomes = [RunOutcome.FAILED] + [
            RunOutcome.FAILED if rng.random() < 1 / 2 else RunOutcome.PASSED for _ in range(20)
        ]
        clean = clean_runs(outcomes)
        called += clean is not None and clean.are_a_fix

    assert called <= 20  # 1 % of the histories, in none of which anything was fixed


@pytest.mark.parametrize(
    ("clean", "said"),
    [
        (
            CleanRuns(3, 3, 3),
            (
                "3 clean runs after 3 of 3 failed: the chance of that is 10% if nothing has changed;"
                " after 10 more clean runs it is called fixed"
            ),
        ),
        (
            CleanRuns(12, 3, 3),
            (
                "12 clean runs after 3 of 3 failed: the chance of that is 1.1% if nothing has changed;"
                " after 1 more clean run it is called fixed"
            ),
        ),
        (
            CleanRuns(13, 3, 3),
            "13 clean runs after 3 of 3 failed: the chance of that is less than 1% if nothing has changed",
        ),
        (
            CleanRuns(3, 2, 20),
            (
                "3 clean runs after 2 of 20 failed: the chance of that is 86% if nothing has changed;"
                " it fails too rarely to be called fixed within 30 clean runs"
            ),
        ),
        (
            CleanRuns(1, 1, 1),
            (
                "1 clean run after 1 of 1 failed: one failure does not show how often it fails,"
                " so it is not called fixed"
            ),
        ),
    ],
    ids=["more", "almost", "fixed", "too rare", "once"],
)
def test_clean_runs_say_why_they_are_a_fix_or_not(clean: CleanRuns, said: str) -> None:
    assert str(clean) == said


def test_as_many_more_clean_runs_as_announced_make_it_fixed() -> None:
    clean = CleanRuns(2, 4, 6)

    assert clean.more is not None
    assert CleanRuns(2 + clean.more, 4, 6).are_a_fix
    assert not CleanRuns(1 + clean.more, 4, 6).are_a_fix


def test_the_documentation_has_the_clean_runs_that_make_a_fix() -> None:
    rows = re.findall(r"\| (\d+) of (\d+) \| (\d+|–) \|", (ROOT / "docs/nightly.md").read_text())

    assert len(rows) > 1
    for failed, runs, needed in rows:
        assert str(CleanRuns(0, int(failed), int(runs)).more or "–") == needed, (failed, runs)


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("pfpfpp", CleanRuns(2, 2, 3)),
        ("pffupipp", CleanRuns(3, 2, 2)),
        ("ppqqp", CleanRuns(1, 2, 2)),
        ("pf", CleanRuns(0, 1, 1)),
        ("f" + "p" * 30 + "fp", CleanRuns(1, 1, 1)),
        ("ppp", None),
        ("", None),
    ],
)
def test_runs_count_from_the_first_failure_of_thirty(letters: str, expected: CleanRuns | None) -> None:
    assert clean_runs(outcomes(letters)) == expected


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
    doubt = "not tested: no kill was observed from beginning to end: run longer, or with faults"
    expected = verdict("Client 0 wrote too late", as_expected=True, reasons=[doubt])

    assert run_of(finished(job(), 0, expected), {}).headline == f"invalid, as expected; {doubt}"


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
    assert (len(result.runs), result.rate.failed, result.rate.runs) == (1, 1, 1)
    assert result.status is Status.NEW
    assert night.exit_code(allow_unknown=False) is ExitCode.VIOLATION


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
