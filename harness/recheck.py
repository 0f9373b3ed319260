"""Judge what was recorded: a run's folder, or a history alone. Needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import checkers
from harness.errors import ConfigurationError
from harness.store import COMMITS, EVENTS, HISTORY, VERDICT, RunFolder


def judge_folder(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Judge a run and write its verdict and report; return the verdict, and what to tell the user."""
    folder = RunFolder(path)
    cut: list[str] = []
    history = folder.merge_events(cut.append)
    commits = path / COMMITS
    document, notices = judge_file(history, commits if commits.exists() else None)
    notices = (*cut, *notices)
    try:
        folder.write_json(VERDICT, document)
        _write_report(path)
    except Exception as error:  # noqa: BLE001 - the verdict stands, whatever a page or a disk does
        notices = (*notices, f"the report could not be written: {error}")
    return document, notices


def judge_file(history: Path, commits: Path | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Judge a history, with the storage's committed order where there is one; writes nothing."""
    read = checkers.read(history)
    order = None if commits is None else checkers.read_commits(commits)
    return checkers.judge(read, order).to_document(), read.notices


def recheck(path: Path, commits: Path | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Judge a run's folder or a history file again.

    A run whose harness was killed is joined from what its processes recorded.
    Raises HistoryError for what cannot be a history, ConfigurationError for what is none.
    """
    if path.is_dir():
        if commits is not None:
            raise ConfigurationError(f"--commits goes with a history file; {path} is a run's folder")
        if not (path / HISTORY).exists() and not (path / EVENTS).is_dir():
            raise ConfigurationError(f"{path} is no run: it has neither {HISTORY} nor {EVENTS}/")
        with RunFolder(path).in_use():
            return judge_folder(path)
    if not path.exists():
        raise ConfigurationError(f"there is no run and no history at {path}")
    return judge_file(path, commits)


def _write_report(path: Path) -> None:
    from harness.report.run import write

    write(path)
