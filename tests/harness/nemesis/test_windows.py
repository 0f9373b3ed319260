"""Windows of faults: how many a fault had, how many it hit, and why it missed the others."""

from __future__ import annotations

import json
from typing import Any

from checkers.document import WindowsDocument
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import PlanLog, plan
from harness.nemesis.windows import NO_TAKEOVER, TAKEN
from harness.run.recheck import judge_folder

SECOND = 1_000_000_000
PAUSE = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")
PLANNED = plan((PAUSE,), 1, SECOND, 20 * SECOND)


def test_windows_are_part_of_the_plan() -> None:
    log = PlanLog(seed=1, started=0, duration=1, planned=PLANNED, save=lambda _document: None)

    for why in (None, TAKEN, None, NO_TAKEOVER, TAKEN):
        log.window(0, why)

    assert log.document()["windows"] == [
        {"fault": "pause holder before-write", "hit": 2, "missed": {TAKEN: 2, NO_TAKEOVER: 1}}
    ]


def test_faults_that_are_called_the_same_have_their_windows_together() -> None:
    twice = plan((PAUSE, PAUSE), 1, SECOND, 20 * SECOND)
    log = PlanLog(seed=1, started=0, duration=1, planned=twice, save=lambda _document: None)

    log.window(0, None)
    log.window(1, TAKEN)

    assert log.document()["windows"] == [
        {"fault": "pause holder before-write", "hit": 1, "missed": {TAKEN: 1}}
    ]


def test_a_sentence_has_hits_and_reasons() -> None:
    missed = WindowsDocument(fault="pause holder acquired", hit=11, missed={TAKEN: 1})
    hit = WindowsDocument(fault="kill storage", hit=1)

    assert str(missed) == f"pause holder acquired: 12 windows, 11 hit, 1 missed: {TAKEN}"
    assert str(hit) == "kill storage: 1 window, 1 hit"
    assert str(WindowsDocument(fault="pause holder granted")).endswith(
        "0 windows, 0 hit, because it never had an occasion"
    )


def test_verdict_and_page_have_the_windows_of_the_plan(recorded_run: Any) -> None:
    folder = recorded_run("append-without-fence-on-acquire-twin")
    file = folder / "plan.json"
    windows = [{"fault": "pause holder before-write", "hit": 3, "missed": {TAKEN: 1}}]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"windows": windows}))

    judged = judge_folder(folder)

    assert json.loads((folder / "verdict.json").read_text())["windows"] == windows
    assert str(judged.document.windows[0]) in (folder / "report.html").read_text()
