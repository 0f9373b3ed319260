"""A recorded history, judged again and told as a run is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import checkers
from harness.exit_codes import ExitCode, of_verdict
from harness.paths import as_seen_from_here
from harness.recheck import recheck
from harness.report.console import console
from harness.report.telling import Line, Telling, Tone, tell
from harness.store import HISTORY


def recheck_and_tell(
    path: Path, commits: Path | None, *, text: TextIO | None, judged: Callable[[dict[str, Any]], None]
) -> ExitCode:
    """Judge a run folder or a history file, tell the verdict, and give its exit code."""
    document, notices = recheck(path, commits)
    history = checkers.read(path / HISTORY if path.is_dir() else path)
    judged(document)
    with console(text) as screen:
        screen.write(Line(f"note: {notice}", Tone.FAINT) for notice in notices)
        screen.write(tell(_telling(path, document, history)))
    return of_verdict(document)


def _telling(path: Path, document: dict[str, Any], history: checkers.History) -> Telling:
    report = path / "report.html"
    return Telling(
        target=history.header.target,
        document=document,
        history=history,
        folder=as_seen_from_here(path) if path.is_dir() else None,
        report=as_seen_from_here(report) if report.exists() else None,
        seed=history.header.seed if (path / "target.toml").exists() else None,
    )
