"""Judge a recorded history again, and print it like a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from checkers.vocabulary.document import VerdictDocument
from harness.cli.progress import progress
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.core.paths import as_seen_from_here
from harness.core.printing import say
from harness.report.console import console
from harness.report.lines import LineTone, StyledLine
from harness.report.recorded_run import unread
from harness.report.verdict_text import JudgedRun, verdict_lines
from harness.run.recheck import recheck


def recheck_and_print(
    path: Path,
    commits: Path | None,
    *,
    verbose: bool = False,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
) -> ExitCode:
    """Judge a run folder or a history file, print the verdict, and return its exit code."""
    path = path.resolve()  # `latest` may be another run tomorrow
    with progress(sys.stderr) as stage:
        found = recheck(path, commits, stage)
    judged(found.document)
    if path.is_dir():
        for problem in unread(path):
            say(f"note: {problem}")
    run = JudgedRun.of(as_seen_from_here(path), found.document, found.history)
    with console(text) as screen:
        screen.write(StyledLine(f"note: {notice}", LineTone.FAINT) for notice in found.notices)
        screen.write(verdict_lines(run, verbose=verbose, width=screen.width))
    code = of_verdict(found.document)
    if found.failure is None:
        return code
    say(*found.failure.lines)
    return of_several([code, of_error(found.failure)])
