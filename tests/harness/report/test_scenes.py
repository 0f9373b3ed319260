"""The scene of a finding: which operations, lanes and faults it shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from checkers.history.reader import FaultEvent
from harness.report.scenes import REJECTED, findings, rejections
from tests.support.report_folder import FINDING, REFUSED, STALE, laid_out, recorded, stage
from tests.support.verdicts import finding_of


def test_the_scene_of_a_finding_reaches_from_the_grant_to_the_stale_write(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings([finding_of(FINDING)], stage(run))

    assert [run.operations[index].value for index in scene.proof] == ["new", "old"]
    assert scene.against == scene.proof[:1]
    assert scene.accused == scene.proof[1:]
    assert scene.start <= 1010
    assert scene.end >= 1180
    assert scene.lanes == (0, 1)


def test_a_scene_begins_with_the_fault_that_opened_its_window(tmp_path: Path) -> None:
    killed = FaultEvent(
        time=1005, kind="kill", target="storage", state="in force", evidence="it is gone", line=90
    )
    caused = FINDING | {"cause": {"certain": False, "fault": "kill", "faults": [90]}}
    run = laid_out(tmp_path)
    band = replace(run.bands[0], kind="kill", target="storage", start=1005, lane=None, lines=(90,))
    history = replace(recorded(STALE), faults=(killed,))

    (scene,) = findings([finding_of(caused)], stage(replace(run, bands=(band,)), history))

    assert scene.cause == band
    assert scene.start <= 1005


def test_a_finding_whose_lines_are_unknown_still_has_a_scene(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings(
        [finding_of(FINDING | {"operations": [999], "accused": [999], "step_lines": [[]], "cause": None})],
        stage(run),
    )

    assert scene.proof == ()
    assert (scene.start, scene.end) == (run.start, run.end)


def test_a_run_without_findings_shows_the_rejected_stale_writes(tmp_path: Path) -> None:
    run = laid_out(tmp_path, REFUSED)

    (scene,) = rejections(stage(run, recorded(REFUSED)))

    assert scene.anomaly == REJECTED
    assert "token 1" in scene.summary
    assert "token 2" in scene.summary


def test_an_unexplained_rejection_is_not_shown_as_the_fences_work(tmp_path: Path) -> None:
    run = laid_out(tmp_path, REFUSED.replace('"token":1,"value":"old"', '"token":3,"value":"old"'))

    assert rejections(stage(run, recorded(REFUSED))) == ()
