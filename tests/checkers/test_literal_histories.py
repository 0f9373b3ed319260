"""Recorded histories with known verdicts; their headers say what must be found, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkers.vocabulary.anomalies import ANOMALIES, VIOLATIONS
from checkers.vocabulary.verdict import Validity
from tests.support.literal_histories import BAD, LITERAL, judged


def header(name: str) -> dict[str, Any]:
    with LITERAL[name].open() as lines:
        found: dict[str, Any] = json.loads(lines.readline())
    return found


@pytest.mark.parametrize("name", LITERAL)
def test_each_history_shows_what_its_header_says_and_nothing_else(name: str) -> None:
    verdict = judged(name)

    found = {anomaly: count for anomaly, count in verdict.anomalies.items() if count}
    counted = header(name).get("counted", {})
    anomalies = (*header(name)["expect"], *header(name).get("may", ()))
    assert found == dict.fromkeys(anomalies, 1) | counted, verdict.findings
    if header(name)["expect"]:
        assert verdict.validity is Validity.INVALID
    else:
        unknown = name.startswith("unknown/")
        assert verdict.validity is (Validity.UNKNOWN if unknown else Validity.VALID)
    assert verdict.as_expected == (verdict.validity is not Validity.UNKNOWN)


@pytest.mark.parametrize("name", BAD)
def test_a_history_is_in_the_folder_of_an_anomaly_that_it_shows(name: str) -> None:
    assert judged(name).anomalies[LITERAL[name].parent.name]


@pytest.mark.parametrize("name", LITERAL)
def test_each_finding_is_one_sentence_with_lines_and_steps_that_prove_it(name: str) -> None:
    lines = LITERAL[name].read_text().splitlines()

    for finding in judged(name).findings:
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
    shown = {anomaly for name in LITERAL for anomaly in header(name)["expect"]}

    assert shown == VIOLATIONS
    assert set(ANOMALIES) >= shown
