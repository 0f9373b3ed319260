"""Recorded histories with known verdicts; their headers say what must be found, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import checkers
from checkers.vocabulary.anomalies import ANOMALIES, VIOLATIONS
from tests.support.repository import HISTORIES

CASES = sorted(path for path in HISTORIES.glob("*.jsonl") if not path.name.endswith(".commits.jsonl"))


def judged(path: Path) -> checkers.Verdict:
    commits = path.with_suffix(".commits.jsonl")
    return checkers.judge(checkers.read(path), checkers.read_commits(commits) if commits.exists() else None)


def header(path: Path) -> dict[str, Any]:
    with path.open() as lines:
        found: dict[str, Any] = json.loads(lines.readline())
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_history_shows_what_its_header_says_and_nothing_else(path: Path) -> None:
    verdict = judged(path)

    found = {name: count for name, count in verdict.anomalies.items() if count}
    counted = header(path).get("counted", {})
    names = (*header(path)["expect"], *header(path).get("may", ()))
    assert found == dict.fromkeys(names, 1) | counted, verdict.findings
    expected = {"unknown": checkers.Validity.UNKNOWN, "valid": checkers.Validity.VALID}
    first = path.stem.split("-")[0]
    if header(path)["expect"]:
        assert verdict.validity is checkers.Validity.INVALID
    else:
        assert verdict.validity is expected.get(first, checkers.Validity.VALID)
    assert verdict.as_expected == (verdict.validity is not checkers.Validity.UNKNOWN)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_finding_is_one_sentence_with_lines_and_steps_that_prove_it(path: Path) -> None:
    lines = path.read_text().splitlines()

    for finding in judged(path).findings:
        assert finding.summary.startswith(("process ", "client ", "the ", "either "))
        assert "\n" not in finding.summary
        assert 1 <= len(finding.operations) <= 12
        assert 2 <= len(finding.steps) <= 9
        for number in finding.operations:
            assert json.loads(lines[number - 1])["resource"] == finding.resource
        assert 1 <= len(finding.story) <= 3
        for sentence in (*finding.steps, *finding.story):
            assert sentence[0].isupper() or sentence[0] == "'"
            assert sentence.endswith(".")


def test_every_violation_has_a_history_that_shows_it() -> None:
    shown = {name for path in CASES for name in header(path)["expect"]}

    assert shown == VIOLATIONS
    assert set(ANOMALIES) >= shown
