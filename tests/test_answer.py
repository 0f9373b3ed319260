"""What a run says in a few words, whatever became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.anomalies import ANOMALIES, VIOLATIONS
from harness.report.answer import Tone, answer
from harness.report.counters import counters

HELD = {"stale_writes_attempted": 13, "stale_writes_rejected": 13, "stale_writes_accepted": 0, "grants": 50}


def verdict(word: str = "valid", **fields: object) -> dict[str, object]:
    return {
        "verdict": word,
        "expected": "valid",
        "as_expected": word == "valid",
        "reasons": [],
        "anomalies": {},
        "findings": [],
        "counted": [],
        "coverage": HELD,
    } | fields


def found(name: str, number: int = 1) -> dict[str, object]:
    return {"findings": [{"anomaly": name}] * number, "anomalies": {name: number}}


@pytest.mark.parametrize("name", sorted(VIOLATIONS))
def test_every_violation_has_words_a_reason_and_a_remedy(name: str):
    said = answer(verdict("invalid", **found(name, 3)), "mine")

    assert said.headline.startswith("BUG FOUND: ")
    assert said.tone is Tone.BAD
    assert "3" in said.happened
    assert said.matters == ANOMALIES[name].matters
    assert said.remedy == ANOMALIES[name].remedy
    assert said.documentation == f"docs/anomalies.md#{name}"
    assert len(counters(said, verdict("invalid", **found(name, 3)), ())) > 0


def test_a_planted_bug_that_was_found_is_the_test_s_success():
    said = answer(
        verdict("invalid", expected=["lost-write"], as_expected=True, **found("lost-write")),
        "asynchronous-commit",
    )

    assert said.headline == "The test worked: it found the planted bug: an acknowledged write was lost"
    assert (said.tone, said.verdict) == (Tone.GOOD, "INVALID, as expected")
    assert said.twin is not None
    assert said.twin.stem == "asynchronous-commit-twin"


def test_a_planted_bug_that_was_not_found_is_no_success():
    reasons = ["expected lost-write was not found"]
    said = answer(verdict(expected=["lost-write"], as_expected=False, reasons=reasons), "asynchronous-commit")

    assert said.headline == (
        "Planted bug not found: this target has to show lost-write, and this run did not"
    )
    assert said.tone is Tone.BAD


def test_what_was_not_expected_leads_where_something_else_was():
    both = {"findings": [{"anomaly": "stale-write"}, {"anomaly": "early-grant"}]}
    said = answer(
        verdict(
            "invalid",
            expected=["stale-write"],
            reasons=["found early-grant, which was not expected"],
            anomalies={"stale-write": 1, "early-grant": 1},
            **both,
        ),
        "mine",
    )

    assert said.headline == (
        "BUG FOUND: the lock was given away while another's lease was still promised (also stale-write ×1)"
    )


def test_a_fence_that_held_says_how_often():
    assert answer(verdict(), "mine").headline == "The fence held: 13 of 13 stale writes refused"


def test_a_run_that_shows_nothing_claims_no_fence():
    said = answer(verdict(coverage={"grants": 50, "stale_writes_attempted": 0}), "mine")

    assert said.headline == "Nothing wrong was found: the lock was granted 50 times"
    assert "says nothing about a fence" in said.matters


def test_a_crashed_checker_leaves_the_run_undecided():
    said = answer(verdict("unknown", reasons=["the checker x crashed: E: y"]), "mine")

    assert said.headline == "Undecided: the checker x crashed: E: y"
    assert (said.tone, said.verdict) == (Tone.UNSURE, "UNKNOWN")


def test_a_run_that_was_not_exercised_and_crashed_is_undecided():
    reasons = ["the checker x crashed: E: y", "not exercised: no stale write was attempted"]

    assert answer(verdict("unknown", reasons=reasons), "mine").label == "Undecided"


def test_clients_and_log_that_contradict_each_other_are_said_to():
    said = answer(verdict(as_expected=False, reasons=["r0: clients saw a, the log has b"]), "mine")

    assert said.headline == "Contradiction: r0: clients saw a, the log has b"
    assert said.tone is Tone.BAD


def test_an_interrupted_run_says_where_it_ended():
    said = answer(verdict(interrupted={"seconds": 5.012, "planned": 20.0}), "mine")

    assert said.interrupted == "interrupted at 5 of 20 s"


def test_the_counters_are_chosen_by_the_anomaly():
    document = verdict("invalid", **found("duplicate-token", 232)) | {"coverage": {"grants": 237, "kills": 1}}

    numbers = {each.name: each.number for each in counters(answer(document, "mine"), document, ())}

    assert numbers == {"Duplicate token": 232, "Grants": 237, "Server faults": 1}


def test_of_a_run_that_was_not_tested_the_zero_is_shown():
    reasons = ["not exercised: no stale write was attempted: run longer, or with faults"]
    document = verdict("unknown", reasons=reasons, coverage={"grants": 5, "stale_writes_attempted": 0})

    names = [each.name for each in counters(answer(document, "mine"), document, ())]

    assert names == ["Stale writes attempted", "Grants"]


def test_every_anomaly_is_documented_where_its_answer_points():
    page = (Path(__file__).parents[1] / "docs" / "anomalies.md").read_text().splitlines()

    assert [name for name in ANOMALIES if f"### {name}" not in page] == []
