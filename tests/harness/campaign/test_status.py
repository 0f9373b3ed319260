"""What a night means for a cell, and how sure that is."""

from __future__ import annotations

import pytest

from harness.campaign.status import FixConfidence, Rate, RunOutcome, Status, fix_confidence, rate, status

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
        ("fff", "p", Status.FIXED),
        ("pff", "p", Status.FIXED),
        ("pfp", "p", Status.FLAKY),
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
        ("pfff", "pp", "none of 2 failed tonight"),  # fixed
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


def test_clean_runs_make_a_fix_more_certain() -> None:
    fix = FixConfidence(clean=30, former=0.12)

    assert fix.confidence == pytest.approx(0.978, abs=0.001)
    assert fix.more == 7
    assert str(fix) == "30 clean runs at a former rate of 12%: 98% sure; 7 more give 99%"


@pytest.mark.parametrize(
    ("letters", "clean", "former"), [("pfpfpp", 2, 0.5), ("pfp", 1, 0.5), ("pfupip", 2, 0.5)]
)
def test_the_former_rate_counts_runs_up_to_the_last_failure(letters: str, clean: int, former: float) -> None:
    assert fix_confidence(outcomes(letters)) == FixConfidence(clean, former)


@pytest.mark.parametrize("letters", ["", "ppp", "pf", "q", "fffp", "ppffp", "pffupp"])
def test_only_a_flaky_cell_with_clean_runs_may_be_fixed(letters: str) -> None:
    assert fix_confidence(outcomes(letters)) is None
