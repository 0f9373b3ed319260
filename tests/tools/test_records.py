"""Records in the repository: known bugs, atlases, drafts and mutants are of targets, runs and files that are there."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.run.recheck import judge_file
from harness.spec import load
from tests.support.repository import ROOT
from tools import known_bugs
from tools.atlas import FOUND, PAGE, page
from tools.atlas_servers import SERVERS
from tools.known_bugs import BUGS, RECORD, TRIES, KnownBug

SEEN = json.loads(RECORD.read_text(encoding="utf-8"))
DRAFTS = sorted((ROOT / "docs/found").glob("*/report.md"))
SHOWN = {"verdict": "invalid", "as_expected": True, "anomalies": {"stale-read": 2, "late-write": 0}}
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
    monkeypatch.setattr(known_bugs, "_run", lambda target: documents[target.stem].pop(0))


def test_a_bug_that_a_later_run_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[MISSED, SHOWN], fixed=[VALID])

    seen = known_bugs.seen(BUG)

    assert seen
    assert seen["affected"] == {"target": BUG.affected, "runs": 2, "found": {"stale-read": 2}}
    assert seen["fixed"] == {"target": BUG.fixed, "runs": 1, "found": {}}


def test_a_bug_that_no_run_shows_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[MISSED] * TRIES, fixed=[VALID])

    assert known_bugs.seen(BUG) is None


def test_a_fixed_system_that_shows_the_bug_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, affected=[SHOWN], fixed=[SHOWN | {"as_expected": False}, *[VALID] * TRIES])

    assert known_bugs.seen(BUG) is None


def test_the_command_prints_its_table_and_says_what_it_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missed = KnownBug(affected="targets/other.toml", fixed="targets/fixed.toml")
    runs(monkeypatch, affected=[SHOWN], other=[MISSED] * TRIES, fixed=[VALID])
    monkeypatch.setattr(known_bugs, "BUGS", {"one": BUG, "another": missed})
    monkeypatch.setattr(known_bugs, "RECORD", tmp_path / "known-bugs.json")

    status = known_bugs.main([])

    printed = capsys.readouterr()
    assert status == 1
    assert printed.err == "another: not found, or not fixed\n"
    assert "| [`one`](../targets/affected.toml) |" in printed.out
    assert "another" not in printed.out


MUTMUT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "mutmut"
]
TESTS = [each for each in MUTMUT["pytest_add_cli_args_test_selection"] if each.startswith("tests/")]


@pytest.mark.parametrize("pattern", MUTMUT["only_mutate"])
def test_a_pattern_of_what_to_mutate_matches_modules(pattern: str) -> None:
    assert [path for path in ROOT.glob(pattern) if path.suffix == ".py"]


@pytest.mark.parametrize("path", [*MUTMUT["also_copy"], *TESTS])
def test_what_mutants_are_tested_with_exists(path: str) -> None:
    assert (ROOT / path).exists()


ATLASES = sorted(FOUND.glob("*/atlas.json"))


def failed(atlas: Path) -> list[dict[str, Any]]:
    drawn = json.loads(atlas.read_text())
    return [cell for cell in (*drawn["cells"], *drawn.get("faults", ())) if cell["history"]]


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == "".join(page())


def test_only_servers_of_the_atlas_have_a_folder() -> None:
    assert {each.parent.name for each in ATLASES} <= {server.slug for server in SERVERS}


@pytest.mark.parametrize("atlas", ATLASES, ids=lambda atlas: atlas.parent.name)
def test_each_history_shows_what_was_found(atlas: Path) -> None:
    for cell in failed(atlas):
        verdict = judge_file(FOUND / cell["history"]).verdict

        assert sorted({each.anomaly for each in verdict.findings}) == cell["findings"]


@pytest.mark.parametrize("atlas", ATLASES, ids=lambda atlas: atlas.parent.name)
def test_no_history_is_without_its_cell(atlas: Path) -> None:
    kept = {f"{file.parent.name}/{file.name}" for file in atlas.parent.glob("*.jsonl")}

    assert kept == {cell["history"] for cell in failed(atlas)}


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.parent.name)
def test_a_draft_for_a_maintainer_has_a_history_that_shows_it(draft: Path) -> None:
    shown = re.search(r"`fencepost recheck history.jsonl` finds ([a-z-]+)", draft.read_text(encoding="utf-8"))

    assert shown
    assert {each.anomaly for each in judge_file(draft.with_name("history.jsonl")).verdict.findings} == {
        shown[1]
    }
