"""The planted bugs of `benchmarks.planted`: each is a target under each setting, and its row is honest."""

from __future__ import annotations

import pytest

from benchmarks.planted import BUGS, CORRECT, SETTINGS, Bug, cell, changes
from harness.run import deployment
from harness.spec import load

STALE = {"verdict": "invalid", "findings": [{"anomaly": "stale-write"}, {"anomaly": "stale-write"}]}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_bug_is_a_target_under_each_setting(bug: Bug, setting: str) -> None:
    target = load(CORRECT, changes(bug, setting))

    deployment.check(target)
    assert target.fenced
    assert target.expected == ()


def test_a_cell_counts_the_runs_that_found_the_bug() -> None:
    valid = {"verdict": "valid", "findings": []}

    assert cell([STALE, valid, STALE]) == "2 of 3: stale-write"


def test_a_cell_says_how_runs_ended_that_found_nothing() -> None:
    valid, unknown = {"verdict": "valid", "findings": []}, {"verdict": "unknown", "findings": []}

    assert cell([valid, unknown]) == "0 of 2: not found (valid, unknown)"
