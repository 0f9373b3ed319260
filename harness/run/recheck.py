"""Judge what was recorded: a run's folder, or a history alone. Needs no server."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import checkers
from checkers import interop
from checkers.document import VerdictDocument
from checkers.errors import HistoryError
from checkers.history.reader import Commit, History
from checkers.interop.text import read_text
from checkers.verdict import Validity, Verdict
from harness.core import exhaustion
from harness.core.errors import ConfigurationError, ResourceExhaustedError
from harness.files import run_files
from harness.files.column_folder import column_folder
from harness.files.run_folder import COMMITS, EVENTS, HISTORY, VERDICT, RunFolder
from harness.report.interruption import interruption
from harness.report.recorded_run import Parsed, recorded_plan
from harness.target.toml import loads
from workloads.storages import WITH_COMMIT_ORDER

Stage = Callable[[str], None]
"""Hears what is done now."""


def quietly(_doing: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict and its document, the history it is about, and what to tell the user besides."""

    verdict: Verdict
    document: VerdictDocument
    history: History
    commits: Sequence[Commit] | None  # None: the storage gave no order
    notices: tuple[str, ...]
    failure: ResourceExhaustedError | None = None  # what kept the verdict and the report from being written


UNREAD_ORDER = (
    "commits.jsonl, the storage's own order of writes, is missing, so this is judged by what the clients saw"
    " alone"
)
NO_ORDER = (
    "there is no order of writes from the storage itself: it tells none, or the run ended before"
    " it could be read; this is judged by what the clients saw"
)


def judge_folder(path: Path, stage: Stage = quietly) -> Judged:
    """Judge a run, and write its verdict and report.

    That the disk is too full for them takes nothing from the verdict: `failure` says so.
    """
    folder = RunFolder(path)
    cut: list[str] = []
    history = folder.merge_events(cut.append)
    commits = path / COMMITS
    order = commits if commits.exists() else None
    judged = judge_file(history, order, stage, same_run=True)
    cut_short = interruption(recorded_plan(path), judged.history)
    verdict = judged.verdict if order else _without_order(judged.verdict, path)
    document = msgspec.structs.replace(judged.document, reasons=list(verdict.reasons), interrupted=cut_short)
    judged = replace(judged, verdict=verdict, document=document)
    notices = (*cut, *judged.notices, *([] if order else [NO_ORDER]))
    failure = None
    try:
        folder.write_json(VERDICT, judged.document.as_dict())
        stage("writing the report")
        _write_report(path, judged)
    except Exception as error:  # noqa: BLE001 - the verdict stands, whatever a page or a disk does
        failure = _as_exhausted(error, path)
        if failure is None:
            notices = (*notices, f"the report could not be written: {error}")
    return replace(judged, notices=notices, failure=failure)


def _without_order(verdict: Verdict, path: Path) -> Verdict:
    """Say that the run's storage has an order of writes, and that it was not judged."""
    if verdict.validity is Validity.UNKNOWN or not _has_an_order(path):
        return verdict
    return replace(verdict, reasons=(*verdict.reasons, UNREAD_ORDER))


def _has_an_order(path: Path) -> bool:
    """Does the storage of a run keep an order of its writes, by its target.toml?"""
    try:
        storage = loads(run_files.text(path, run_files.TARGET) or "").get("storage")
    except (HistoryError, ValueError):
        return False
    kind = storage.get("kind") if isinstance(storage, dict) else None
    return isinstance(kind, str) and kind in WITH_COMMIT_ORDER


def _as_exhausted(error: Exception, path: Path) -> ResourceExhaustedError | None:
    if isinstance(error, ResourceExhaustedError):
        return error
    if isinstance(error, OSError) and error.errno != errno.EROFS:  # it may be that on purpose
        return exhaustion.as_exhausted(error, error.filename or path)
    return None


def judge_file(
    history: Path, commits: Path | None = None, stage: Stage = quietly, *, same_run: bool = False
) -> Judged:
    """Judge a history, with the storage's committed order where there is one.

    `same_run`: both stand in one run's folder, so the order is evidence even if nothing in it fits.

    Writes nothing, but for the columns of a long history, into the user's cache folder.
    """
    for each in (history, commits):
        if each is not None and not each.is_file():
            raise ConfigurationError(f"{each} is not a file that can be read")
    stage(f"reading {history.name}")
    read = _read(history)
    order = None if commits is None else checkers.read_commits(commits)
    stage(f"judging {len(read.operations):,} operations")
    verdict = checkers.judge(read, order, same_run=same_run)
    notices = (*read.notices, *verdict.notices)
    return Judged(
        verdict=verdict,
        document=verdict.documented(history),
        history=read,
        commits=order,
        notices=notices,
    )


def _read(path: Path) -> History:
    """Read a history of ours; of another tool's, say how it is judged."""
    try:
        return checkers.read(path, cache=column_folder())
    except HistoryError as error:
        other = _other_format(path) if error.line == 1 else None
        if other is None:
            raise
        raise ConfigurationError(
            f'{path}: it does not begin with our header, {{"fencepost":1,…}}, but like {other}:'
            " a history of another tool? name its model: --model cas-register"
        ) from None


def _other_format(path: Path) -> interop.Format | None:
    """The format of another tool that a file begins like, if it does."""
    try:
        found = interop.detect(read_text(path))
    except HistoryError:
        return None
    return None if found is interop.Format.FENCEPOST else found


def recheck(path: Path, commits: Path | None = None, stage: Stage = quietly) -> Judged:
    """Judge a run's folder or a history file again; `stage` hears what takes its time.

    A run whose harness was killed is joined from what its processes recorded.
    Raises HistoryError for what cannot be a history, ConfigurationError for what is none.
    """
    if path.is_dir():
        if commits is not None:
            raise ConfigurationError(f"--commits goes with a history file; {path} is a run's folder")
        if not (path / HISTORY).exists() and not (path / EVENTS).is_dir():
            raise ConfigurationError(f"{path} is no run: it has neither {HISTORY} nor {EVENTS}/")
        run_files.check(path)
        with RunFolder(path).in_use():
            return judge_folder(path, stage)
    if not path.exists():
        raise ConfigurationError(f"there is no run and no history at {path}")
    return judge_file(path, commits, stage)


def _write_report(path: Path, judged: Judged) -> None:
    from harness.report.run import write  # slow to import

    write(path, Parsed(verdict=judged.document, history=judged.history, commits=judged.commits))
