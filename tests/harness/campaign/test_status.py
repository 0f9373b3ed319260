"""What a night means for a cell, and how sure that is."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from harness.campaign.status import CleanRuns, Rate, RunOutcome, Status, clean_runs, rate, status
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
