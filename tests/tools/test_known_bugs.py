"""The record of the known bugs: each was found, with a date and a commit, by a target that is there."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import pytest

from harness.spec import load
from tests.support.repository import ROOT
from tools import known_bugs
from tools.known_bugs import BUGS, RECORD, TRIES, KnownBug

SEEN = json.loads(RECORD.read_text(encoding="utf-8"))
FOUND = {"verdict": "invalid", "as_expected": True, "anomalies": {"stale-read": 2, "late-write": 0}}
VALID = {"verdict": "valid", "as_expected": True, "anomalies": {}}
MISSED = {"verdict": "valid", "as_expected": False, "anomalies": {}}
BUG = KnownBug(affected="targets/affected.toml", fixed="targets/fixed.toml")


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_an_affected_target_expects_its_bug_and_a_fixed_one_none(bug: KnownBug) -> None:
    assert load(ROOT / bug.affected).expected
    assert not load(ROOT / bug.fixed).expected


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_has_the_date_and_commit_that_last_found_it(bug: str) -> None:
    seen = SEEN[bug]

    assert dt.date.fromisoformat(seen["date"])
    assert re.fullmatch("[0-9a-f]{10}", seen["commit"])
    assert set(load(ROOT / BUGS[bug].affected).expected) <= set(seen["affected"]["found"])


def runs(monkeypatch: pytest.MonkeyPatch, **documents: list[dict[str, Any]]) -> None:
    """Let each target's runs end with these documents, one after another."""
    monkeypatch.setattr(known_bugs, "_run", lambda target, _: documents[target[8:-5]].pop(0))


def test_a_bug_that_a_later_run_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[MISSED, FOUND], fixed=[VALID])

    seen = known_bugs.seen(BUG)

    assert seen
    assert seen["affected"] == {"target": BUG.affected, "runs": 2, "found": {"stale-read": 2}}
    assert seen["fixed"] == {"target": BUG.fixed, "runs": 1, "found": {}}


def test_a_bug_that_no_run_shows_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[MISSED] * TRIES, fixed=[VALID])

    assert known_bugs.seen(BUG) is None


def test_a_fixed_system_that_shows_the_bug_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[FOUND], fixed=[FOUND | {"as_expected": False}, *[VALID] * TRIES])

    assert known_bugs.seen(BUG) is None
