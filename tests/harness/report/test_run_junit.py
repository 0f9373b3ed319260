"""junit.xml of one run, as CI servers read it."""

import json
from pathlib import Path

import pytest

from harness.core.invocation import NOTHING_ELSE
from harness.report import unjudged
from harness.report.run_junit import NAME
from harness.run.recheck import recheck
from tests.support.junit_readers import properties, results, validated
from tests.support.recorded_runs import Unpack


def judged(folder: Path, **header: object) -> str:
    """Judge a recorded run again, with some fields of its header changed, and return its junit.xml."""
    history = folder / "history.jsonl"
    first, rest = history.read_text().split("\n", 1)
    history.write_text(json.dumps(json.loads(first) | header) + "\n" + rest)
    recheck(folder)
    return (folder / NAME).read_text()


@pytest.mark.parametrize("name", ["etcd-postgres", "check-then-write"])
def test_a_run_as_expected_passes(recorded_run: Unpack, name: str) -> None:
    suites = validated(judged(recorded_run(name)))

    assert results(suites) == {name: []}
    (suite,) = suites
    assert [case.name for case in suite] == ["run"]  # as in a run with another seed
    assert set(properties(suite)) == {"seed", "engine", "fencepost"}
    assert suite.time > 0


def test_a_violation_is_a_failure_with_its_steps_and_commands(recorded_run: Unpack) -> None:
    folder = recorded_run("check-then-write")

    suites = validated(judged(folder, expect="valid"))

    assert results(suites) == {"check-then-write": ["Failure"]}
    ((case,),) = suites
    (failure,) = case.result
    assert failure.message.startswith("BUG: the storage accepted ")
    assert failure.text.count("\n    1. Client ") == 1
    assert f"\n  judge again  fencepost recheck {folder}\n" in failure.text
    assert f"\n  run again    fencepost run {folder}/target.toml --seed " in failure.text


def test_an_unknown_run_is_an_error(recorded_run: Unpack) -> None:
    suites = validated(judged(recorded_run("etcd-postgres"), require={"stale_writes_attempted": 10_000}))

    assert results(suites) == {"etcd-postgres": ["Error"]}
    ((case,),) = suites
    assert case.result[0].type == "unknown"


def test_a_run_without_a_verdict_is_an_error(tmp_path: Path) -> None:
    unjudged.write(
        unjudged.Unjudged(
            target="t",
            seed=7,
            folder=tmp_path,
            interrupted=False,
            why=("etcd-1 did not get healthy\x1b[31m",),
            how=NOTHING_ELSE,
        )
    )

    suites = validated((tmp_path / NAME).read_text())

    assert results(suites) == {"t": ["Error"]}
    ((case,),) = suites
    assert case.result[0].message == "infrastructure failure: etcd-1 did not get healthy\\x1b[31m"


@pytest.mark.parametrize("began", ["7", "\x00", "9999-99-99", "0001-01-01T00:00:00+23:59", ["2026"]])
def test_a_received_folder_cannot_spoil_it(recorded_run: Unpack, began: object) -> None:
    folder = recorded_run("etcd-postgres")
    environment = json.loads((folder / "environment.json").read_text())
    strange = environment | {"began": began, "engine": ["<&\x00"], "git_commit": "\ud800"}
    (folder / "environment.json").write_text(json.dumps(strange))

    (suite,) = validated(judged(folder, target="<t>&\x1b"))

    assert suite.timestamp == "1970-01-01T00:00:00"
