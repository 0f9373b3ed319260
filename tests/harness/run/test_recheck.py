"""Rechecks: progress, recorded runs with their original verdicts, and runs that ended early."""

import io
import json
import platform
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from checkers.history import reader
from checkers.text.errors import HistoryError
from checkers.vocabulary.document import InterruptionDocument
from harness.campaign.canary import TWIN
from harness.cli.progress import progress
from harness.cli.recheck_history import recheck_and_print
from harness.cli.zoo_exhibits import Exhibit, exhibits
from harness.core.exit_codes import ExitCode
from harness.report.interruption import in_words, interruption
from harness.report.recorded_run import RecordedPlan, recorded_plan
from harness.run.recheck import NO_PLAN, UNREAD_ORDER, judge_file, recheck
from tests.support.recorded_runs import RECORDINGS, Unpack, recorded, recordings
from tests.support.simulation import Simulation
from tests.support.waiting import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_current_stage_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()

    with progress(screen) as stage:
        stage("reading history.jsonl")
        stage("judging 12 operations")

    clear = "\r\x1b[K"
    assert screen.getvalue() == f"{clear}reading history.jsonl …{clear}judging 12 operations …{clear}"


def test_without_a_terminal_slow_stages_get_regular_lines() -> None:
    screen = io.StringIO()

    with progress(screen, plain_every=0.01) as stage:
        stage("judging 12 operations")
        deadline = time.monotonic() + PATIENCE
        while screen.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            pass

    assert set(screen.getvalue().splitlines()) == {"judging 12 operations … 0 s"}


def test_without_a_terminal_quick_stages_are_not_shown() -> None:
    screen = io.StringIO()

    with progress(screen) as stage:
        stage("reading history.jsonl")

    assert not screen.getvalue()


def test_each_stage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=1).lines()))
    stages: list[str] = []

    judged = recheck(path, stage=stages.append)

    assert stages == ["reading history.jsonl", f"judging {len(judged.history.operations):,} operations"]


MOST = 3 * 2**20  # bytes; all recordings together
EXHIBITS = exhibits()


def test_an_order_of_writes_is_no_evidence_without_any_recording(tmp_path: Path) -> None:
    history, commits = tmp_path / "history.jsonl", tmp_path / "commits.jsonl"
    history.write_text('{"fencepost":1,"target":"t","fenced":true,"policy":"strict"}\n', encoding="utf-8")
    commits.write_text('{"seq":1,"resource":"r0","token":1,"value":"v"}\n', encoding="utf-8")

    with pytest.raises(HistoryError, match="no operation, but the storage has an order of 1 write"):
        judge_file(history, commits, same_run=True)


def test_every_run_that_can_be_recorded_is_recorded() -> None:
    assert set(recorded()) == {each.name for each in recordings()}


def test_the_recordings_are_small() -> None:
    assert sum(file.stat().st_size for file in RECORDINGS.glob("*.tar.xz")) < MOST


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_a_recorded_twin_is_valid_and_exercised(recorded_run: Unpack, exhibit: Exhibit) -> None:
    document = recheck(recorded_run(f"{exhibit.name}{TWIN}")).document

    assert document.verdict == "valid", document.reasons
    least = exhibit.twin.require
    assert all(document.coverage[name] >= least[name] for name in least)


def test_a_recorded_run_that_was_interrupted_ends_early(recorded_run: Unpack) -> None:
    folder = recorded_run("interrupted")
    plan = json.loads((folder / "plan.json").read_bytes())
    last = json.loads((folder / "history.jsonl").read_text().splitlines()[-1])

    assert plan["duration"] == 20 * 10**9
    assert 5 <= (last["time"] - plan["started"]) / 10**9 < 10
    recheck(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in recordings()])
def test_a_recording_does_not_identify_its_machine(recorded_run: Unpack, name: str) -> None:
    folder = recorded_run(name)

    for file in folder.iterdir():
        text = file.read_text()
        assert platform.node() not in re.split(r"[^\w.-]", text)
        assert not re.search(r"(?<![\w./-])/(home|root|tmp|work|var|usr|opt)/", text), file.name


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


def test_a_recheck_of_a_cut_run_has_both_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
