"""Run folders that are not whole, or hostile."""

import json
import re
from pathlib import Path

import pytest

from harness import report
from harness.core.errors import ConfigurationError
from harness.report.templates import digest
from harness.run.recheck import recheck
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
