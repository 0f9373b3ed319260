"""The zoo: every bug has a twin, and the row of each pair."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.campaign.canary import TWIN
from harness.cli.zoo_exhibits import ExhibitResult, ExhibitRun, exhibits
from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.core.exit_codes import ExitCode
from harness.engines.choice import choose
from harness.run.deployment import topology
from harness.spec.reading import in_folder, shipped_folder
from tests.support.challenged import repeated, was_not_exercised
from tests.support.command import fencepost
from tests.support.missing import need
from tests.support.verdicts import verdict_of

FILES = in_folder(shipped_folder() / "zoo")


def outcome(expected: list[str] | str, verdict: str, *found: str) -> ExhibitRun:
    names = [] if expected == "valid" else list(expected)
    document = {
        "verdict": verdict,
        "expected": expected,
        "as_expected": verdict == "valid" if expected == "valid" else set(names) == set(found),
        "findings": [{"anomaly": name} for name in found],
        "anomalies": dict.fromkeys(found, 1),
    }
    return ExhibitRun(document=verdict_of(document))


def row(bug: ExhibitRun, twin: ExhibitRun) -> Any:
    return ExhibitResult(exhibit=exhibits()[0], bug=bug, twin=twin)


CAUGHT = outcome(["stale-write"], "invalid", "stale-write")
CLEAN = outcome("valid", "valid")


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(TWIN)])
def test_every_bug_expects_an_anomaly_and_its_twin_none(name: str) -> None:
    (exhibit,) = exhibits([name])

    assert exhibit.bug.expected
    assert exhibit.twin.expected == ()
    assert exhibit.story.endswith(".")
    assert (exhibit.bug.name, exhibit.twin.name) == (name, f"{name}{TWIN}")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(TWIN)])
def test_every_twin_has_a_bug(name: str) -> None:
    assert name.removesuffix(TWIN) in FILES


def test_bugs_are_selected_by_name_and_by_pattern() -> None:
    names = [exhibit.name for exhibit in exhibits()]

    assert [exhibit.name for exhibit in exhibits([names[0]])] == names[:1]
    assert [exhibit.name for exhibit in exhibits(["*"])] == names


def test_an_unknown_bug_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the zoo has no bug called chekc-then-write"):
        exhibits(["chekc-then-write"])


@pytest.mark.parametrize(
    ("bug", "twin", "code"),
    [
        (CAUGHT, CLEAN, ExitCode.AS_EXPECTED),
        (outcome(["stale-write"], "valid"), CLEAN, ExitCode.VIOLATION),
        (outcome(["stale-write"], "unknown"), CLEAN, ExitCode.VIOLATION),
        (CAUGHT, outcome("valid", "invalid", "stale-write"), ExitCode.VIOLATION),
        (CAUGHT, outcome("valid", "unknown"), ExitCode.UNKNOWN),
        (CAUGHT, ExhibitRun(error=ServerNotReadyError("gone")), ExitCode.INFRASTRUCTURE),
    ],
)
def test_a_bug_must_be_caught_and_its_twin_clean(bug: ExhibitRun, twin: ExhibitRun, code: ExitCode) -> None:
    assert row(bug, twin).code is code


def test_a_row_as_json_says_what_was_found() -> None:
    document = row(CAUGHT, CLEAN).as_json()

    assert (document["caught"], document["found"]) == (True, {"stale-write": 1})
    assert (document["twin"], document["twin_is_clean"]) == ("valid", True)


def test_an_error_is_part_of_the_row() -> None:
    document = row(ExhibitRun(error=ServerNotReadyError("redis-1 is gone")), CLEAN).as_json()

    assert document["errors"] == ["redis-1 is gone"]
    assert document["caught"] is False


@pytest.mark.nightly
def test_the_command_runs_a_bug_and_its_twin(tmp_path: Path) -> None:
    bug = "get-then-del-unlock"
    target = exhibits([bug])[0].bug
    need(choose("auto"), topology(target, target.faults))

    done = repeated(
        lambda: fencepost(tmp_path, "zoo", "--format", "json", bug),
        lambda done: some_run_was_not_exercised(tmp_path, done),
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["caught"]
    assert document["twin_is_clean"]
    assert 0 < document["seconds_to_find"] < 20
    assert "1 of 1 bugs caught, 1 of 1 twins clean" in done.stderr


def some_run_was_not_exercised(folder: Path, done: CompletedProcess[str]) -> bool:
    runs = json.loads(done.stdout)["runs"] if done.stdout else []
    return any(was_not_exercised(json.loads((folder / run / "verdict.json").read_text())) for run in runs)
