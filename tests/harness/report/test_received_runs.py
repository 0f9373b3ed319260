"""Reports of runs that are not whole, hostile or without a verdict: their pages, and junit.xml for CI."""

import json
import re
from pathlib import Path

import pytest

from harness import report
from harness.core.errors import ConfigurationError
from harness.core.invocation import NOTHING_ELSE
from harness.report import unjudged
from harness.report.junit import NAME
from harness.report.run import digest
from harness.run.recheck import recheck
from tests.support.junit_readers import properties, results, validated
from tests.support.recorded_runs import Unpack
from tests.support.report_folder import FINDING, STALE, VERDICT, run_folder, text_of


@pytest.fixture
def judged(recorded_run: Unpack) -> Path:
    """The folder of a run with a stale write."""
    folder = recorded_run("etcd-postgres-unfenced")
    recheck(folder)
    return folder


def test_values_of_a_history_reach_the_page_only_as_text(tmp_path: Path) -> None:
    attack = "</script><img src=x onerror=alert(1)>"
    folder = run_folder(
        tmp_path,
        STALE.replace('"old"', json.dumps(attack)).replace('"target":"t"', f'"target":{json.dumps(attack)}'),
        findings=[FINDING | {"summary": attack, "steps": [attack]}],
        reasons=[attack],
    )
    (folder / "target.toml").write_text(attack)
    (folder / "plan.json").write_text(json.dumps({"seed": attack, "faults": [{"kind": attack}]}))

    assert "<img" not in report.write(folder).read_text()


def test_a_verdict_alone_makes_a_report_that_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps(VERDICT))

    assert "There is no history.jsonl" in text_of(report.write(tmp_path))


@pytest.mark.parametrize("name", ["history.jsonl", "commits.jsonl", "plan.json", "environment.json"])
def test_a_torn_file_costs_its_part_of_the_report_alone(judged: Path, name: str) -> None:
    (judged / name).write_text('{"torn": [1, 2\n{"x\n')

    page = text_of(report.write(judged))

    assert "could not be read" in page
    assert "Verdict: invalid" in page


def test_a_folder_without_a_verdict_cannot_be_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="fencepost recheck"):
        report.write(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_report_asks_for_nothing_from_the_network(judged: Path) -> None:
    page = (judged / "report.html").read_text()

    assert (
        re.findall(
            r"""(?:src|href)\s*=\s*["']?(?!data:|#)[^"'\s>]+""",
            re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL),
        )
        == []
    )
    assert "default-src 'none'" in page


def test_a_report_allows_no_script_and_no_style_but_its_own(judged: Path) -> None:
    page = (judged / "report.html").read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)

    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    assert rules == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": digest(style),
        "script-src": digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert page.index(policy) < page.index("<style")
    assert re.findall("<script([^>]*)>", page) == [' type="application/json" id="data"', ""]


def test_a_run_without_its_target_is_repeated_if_that_is_a_shipped_one(tmp_path: Path) -> None:
    other = STALE.replace('"target":"t"', '"target":"/tmp/evil.toml"')
    shipped = STALE.replace('"target":"t"', '"target":"etcd-postgres"')

    assert "fencepost run" not in report.write(run_folder(tmp_path, other)).read_text()
    assert "fencepost run etcd-postgres" in report.write(run_folder(tmp_path, shipped)).read_text()


def junit_of(folder: Path, **header: object) -> str:
    """Judge a recorded run again, with some fields of its header changed, and return its junit.xml."""
    history = folder / "history.jsonl"
    first, rest = history.read_text().split("\n", 1)
    history.write_text(json.dumps(json.loads(first) | header) + "\n" + rest)
    recheck(folder)
    return (folder / NAME).read_text()


@pytest.mark.parametrize("name", ["etcd-postgres", "check-then-write"])
def test_a_run_as_expected_passes(recorded_run: Unpack, name: str) -> None:
    suites = validated(junit_of(recorded_run(name)))

    assert results(suites) == {name: []}
    (suite,) = suites
    assert [case.name for case in suite] == ["run"]  # as in a run with another seed
    assert set(properties(suite)) == {"seed", "engine", "fencepost"}
    assert suite.time > 0


def test_a_violation_is_a_failure_with_its_steps_and_commands(recorded_run: Unpack) -> None:
    folder = recorded_run("check-then-write")

    suites = validated(junit_of(folder, expect="valid"))

    assert results(suites) == {"check-then-write": ["Failure"]}
    ((case,),) = suites
    (failure,) = case.result
    assert failure.message.startswith("BUG: the storage accepted ")
    assert failure.text.count("\n    1. Client ") == 1
    assert f"\n  judge again  fencepost recheck {folder}\n" in failure.text
    assert f"\n  run again    fencepost run {folder}/target.toml --seed " in failure.text


def test_an_unknown_run_is_an_error(recorded_run: Unpack) -> None:
    suites = validated(junit_of(recorded_run("etcd-postgres"), require={"stale_writes_attempted": 10_000}))

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

    (suite,) = validated(junit_of(folder, target="<t>&\x1b"))

    assert suite.timestamp == "1970-01-01T00:00:00"
