"""Recorded runs, judged and reported again: what the terminal and the page get, before and after rendering."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

from harness.core.events import RunJudged
from harness.report.lines import StyledLine
from harness.report.page import page
from harness.report.recorded_run import Parsed, RecordedRun, load
from harness.report.verdict_text import JudgedRun, verdict_lines
from harness.run.recheck import judge_folder, recheck
from harness.spec import Target
from tests.support.recorded_runs import unpack

UNWRAPPED = 1_000_000  # columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A recorded run and its report."""

    recorded: RecordedRun
    page: SimpleNamespace
    html: str
    terminal: tuple[StyledLine, ...]  # before they are wrapped
    place: str  # the folder that it is unpacked in


@contextmanager
def reported(name: str) -> Iterator[Reported]:
    """Judge a recorded run again, and report it; its folder exists until the end of `with`."""
    with tempfile.TemporaryDirectory() as runs:
        folder = unpack(name, Path(runs))
        judged = recheck(folder)
        parsed = Parsed(verdict=judged.document, history=judged.history, commits=judged.commits)
        recorded = load(folder, parsed)
        run = JudgedRun.of(folder, judged.document, judged.history)
        yield Reported(
            recorded=recorded,
            page=page(recorded),
            html=(folder / "report.html").read_text(encoding="utf-8"),
            terminal=tuple(verdict_lines(run, width=UNWRAPPED)),
            place=runs,
        )


def judged_as(target: Target, folder: Path) -> RunJudged:
    """Judge the recorded run in a folder as if it were a run of this target."""
    judged = judge_folder(folder)
    header = replace(judged.history.header, target=target.name)
    return RunJudged(
        folder=folder,
        verdict=judged.verdict,
        document=judged.document,
        history=replace(judged.history, header=header),
        report=folder / "report.html",
    )
