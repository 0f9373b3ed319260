"""Recorded runs, judged and reported again: what the terminal and the page get, before and after rendering."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.files.environment import repetition_in
from harness.report.lines import StyledLine
from harness.report.page import ReportPage, page
from harness.report.recorded_run import Parsed, RecordedRun, load
from harness.report.verdict_text import JudgedRun, verdict_lines
from harness.run.recheck import recheck
from tests.support.recorded_runs import unpack

UNWRAPPED = 1_000_000  # columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A recorded run and its report."""

    recorded: RecordedRun
    page: ReportPage
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
        report = folder / "report.html"
        run = JudgedRun(
            target=judged.history.header.target,
            document=judged.document,
            history=judged.history,
            folder=folder,
            report=report,
            seed=judged.history.header.seed,
            repetition=repetition_in(folder),
        )
        yield Reported(
            recorded=recorded,
            page=page(recorded),
            html=report.read_text(encoding="utf-8"),
            terminal=tuple(verdict_lines(run, width=UNWRAPPED)),
            place=runs,
        )
