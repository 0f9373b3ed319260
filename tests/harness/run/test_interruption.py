"""A run that ended early says so, whatever the reason."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from checkers.history import reader
from checkers.vocabulary.document import InterruptionDocument
from harness.cli.recheck_history import recheck_and_print
from harness.core.exit_codes import ExitCode
from harness.report.interruption import in_words, interruption
from harness.report.recorded_plan import RecordedPlan
from harness.report.recorded_run import recorded_plan
from harness.run.recheck import NO_PLAN, UNREAD_ORDER, recheck
from tests.support.recorded_runs import Unpack

SECOND = 1_000_000_000
HISTORY = (
    '{"fencepost":1,"target":"t","require":{"stale_writes_attempted":0}}\n'
    '{"time":1000000000,"process":0,"type":"invoke","f":"write","resource":"r0","token":1,"value":"a"}\n'
    '{"time":4200000000,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"a"}\n'
)
RECORDED = reader.parse(HISTORY.splitlines(keepends=True))
PLAN = {"seed": 7, "started": 1 * SECOND, "duration": 20 * SECOND, "ended": 6 * SECOND + 12_345_678}


def plan_of(fields: Mapping[str, object]) -> RecordedPlan:
    return msgspec.convert(fields, RecordedPlan)


def test_an_interrupted_run_says_how_much_work_was_done() -> None:
    cut = interruption(plan_of(PLAN), RECORDED)

    assert cut == InterruptionDocument(seconds=5.012, planned=20.0)
    assert in_words(cut) == "interrupted at 5 of 20 s"


def test_a_killed_run_worked_at_least_until_its_last_event() -> None:
    cut = interruption(plan_of(PLAN | {"ended": None}), RECORDED)

    assert cut == InterruptionDocument(seconds=3.2, planned=20.0)


def test_a_complete_run_was_not_interrupted() -> None:
    assert interruption(plan_of(PLAN | {"ended": 21 * SECOND}), RECORDED) is None
    assert in_words(None) == ""


@pytest.mark.parametrize("plan", [{}, {"seed": 7, "started": 1, "duration": 5}, {"started": "x", "ended": 1}])
def test_a_plan_without_an_end_is_not_an_interruption(tmp_path: Path, plan: dict[str, object]) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(plan))

    assert interruption(recorded_plan(tmp_path), RECORDED) is None


@pytest.mark.parametrize(("kind", "says"), [("postgres", True), ("http", False), ("own:Storage", False)])
def test_a_run_whose_storages_order_is_missing_is_not_valid(tmp_path: Path, kind: str, says: bool) -> None:
    (tmp_path / "history.jsonl").write_text(HISTORY)
    (tmp_path / "target.toml").write_text(f'[storage]\nkind = "{kind}"\n')

    document = recheck(tmp_path).document

    assert document.verdict == ("unknown" if says else "valid")
    assert document.as_expected is not says
    assert (UNREAD_ORDER in document.reasons) is says


def test_the_order_of_a_users_storage_is_missed_if_the_run_has_read_it(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(HISTORY)
    (tmp_path / "target.toml").write_text('[storage]\nkind = "own:Storage"\n')
    (tmp_path / "environment.json").write_text('{"order_of_writes": "commits.jsonl"}')

    document = recheck(tmp_path).document

    assert document.verdict == "unknown"
    assert UNREAD_ORDER in document.reasons


def test_a_violation_seen_by_clients_needs_no_storage_order(recorded_run: Unpack) -> None:
    run = recorded_run("etcd-postgres-unfenced")
    (run / "commits.jsonl").unlink()

    document = recheck(run).document

    assert (document.verdict, document.as_expected) == ("invalid", True)
    assert UNREAD_ORDER in document.reasons


@pytest.mark.parametrize("text", [None, "{", "7"])
def test_a_run_without_a_plan_may_be_interrupted(recorded_run: Unpack, text: str | None) -> None:
    run = recorded_run("interrupted")
    plan = run / "plan.json"
    plan.unlink()
    if text is not None:
        plan.write_text(text)

    judged = recheck(run)

    assert (judged.document.verdict, judged.document.as_expected) == ("unknown", False)
    assert NO_PLAN in judged.document.reasons


def test_a_recheck_of_a_cut_run_prints_both_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "history.jsonl").write_text(HISTORY)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "target.toml").write_text('[storage]\nkind = "postgres"\n')

    code = recheck_and_print(tmp_path, None, text=sys.stdout, judged=lambda _document: None)

    assert code is ExitCode.UNKNOWN
    said = " ".join(capsys.readouterr().out.split())
    assert "interrupted at 5 of 20 s" in said.lower()
    document = json.loads((tmp_path / "verdict.json").read_text())
    assert document["interrupted"] == {"seconds": 5.012, "planned": 20.0}
    assert UNREAD_ORDER in said
