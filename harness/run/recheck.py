"""Judge a recording again: a run's folder, or a history file. Needs no server."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from checkers import formats
from checkers.formats.text import read_text
from checkers.history.commits import read_commits
from checkers.history.reader import read
from checkers.history.records import Commit, History
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import Validity, Verdict, reasons_of
from harness.core import exhaustion
from harness.core.errors import ConfigurationError, ResourceExhaustedError
from harness.files import received, run_files
from harness.files.run_folder import COMMITS, EVENTS, HEADER, HISTORY, VERDICT, RunFolder
from harness.report.handovers import doubts
from harness.report.interruption import interruption
from harness.report.recorded_run import Parsed, RecordedPlan, recorded_plan
from harness.report.sentences import count
from harness.spec.toml import loads
from workloads.storages import WITH_COMMIT_ORDER

Stage = Callable[[str], None]
"""Gets the name of each stage."""


def ignore(_stage: str) -> None:
    """Ignore the stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict and its document, the judged history, and messages for the user."""

    verdict: Verdict
    document: VerdictDocument
    history: History
    commits: Sequence[Commit] | None  # None: the storage has no order
    notices: tuple[str, ...]
    failure: ResourceExhaustedError | None = None  # why the verdict and the report could not be written


UNREAD_ORDER = Reason(
    ReasonKind.NO_ORDER,
    "commits.jsonl, the storage's own order of writes, is missing, so this is judged by what the clients saw"
    " alone",
)
NO_PLAN = Reason(
    ReasonKind.NO_PLAN,
    "plan.json is missing or cannot be read, so it is not known whether the run worked to its end",
)
NO_ORDER = (
    "there is no order of writes from the storage: it has none, or the run ended before it was read;"
    " only what the clients saw was judged"
)


def judge_folder(path: Path, stage: Stage = ignore) -> Judged:
    """Judge a run, and write its verdict and reports; with `failure` set if the disk is too full for them."""
    judged = judge_recording(path, stage)
    try:
        RunFolder(path).write_json(VERDICT, judged.document.as_dict())
        stage("writing the report")
        _write_reports(path, judged)
    except Exception as error:  # noqa: BLE001 - an error in the report must not hide the verdict
        failure = _as_exhausted(error, path)
        unwritten = () if failure else (f"the report could not be written: {error}",)
        return replace(judged, notices=(*judged.notices, *unwritten), failure=failure)
    return judged


def judge_recording(path: Path, stage: Stage = ignore) -> Judged:
    """Judge a run; the only file that may be written is history.jsonl, if its parts were not merged yet."""
    cut: list[str] = []
    history = RunFolder(path).merge_events(cut.append)
    order = path / COMMITS if run_files.has(path, COMMITS) else None
    judged = judge_file(history, order, stage, same_run=True)
    plan = recorded_plan(path)
    cut_short = interruption(plan, judged.history)
    verdict = _with_doubts(judged.verdict, path, plan, has_order=order is not None)
    document = msgspec.structs.replace(
        judged.document,
        verdict=verdict.validity.word,
        as_expected=verdict.as_expected,
        **reasons_of(verdict.reasons),
        windows=plan.windows,
        interrupted=cut_short,
    )
    notices = (*cut, *judged.notices, *([] if order else [NO_ORDER]))
    return replace(judged, verdict=verdict, document=document, notices=notices)


def _with_doubts(verdict: Verdict, path: Path, plan: RecordedPlan, *, has_order: bool) -> Verdict:
    """Add what is missing in a run's folder, without which no run is valid.

    Only the storage's order of writes decides exactly whether a stale one took effect, and only the plan
    says whether the run worked to its end.
    """
    if verdict.validity is Validity.UNKNOWN:
        return verdict
    doubts: list[Reason] = []
    if not has_order and _has_an_order(path):
        doubts.append(UNREAD_ORDER)
    if plan == RecordedPlan() and run_files.has(path, HEADER):  # not a folder that somebody made by hand
        doubts.append(NO_PLAN)
    reasons = (*verdict.reasons, *doubts)
    if not doubts or verdict.validity is Validity.INVALID:  # what the clients saw proves that
        return replace(verdict, reasons=reasons)
    return replace(verdict, validity=Validity.UNKNOWN, as_expected=False, reasons=reasons)


def _has_an_order(path: Path) -> bool:
    """Does the storage of a run have an order of writes, by its kind, or because the run has read it?"""
    try:
        if run_files.ORDER_OF_WRITES in run_files.document(path, run_files.ENVIRONMENT):
            return True
        storage = loads(run_files.text(path, run_files.TARGET) or "").get("storage")
    except (HistoryError, ValueError):
        return False
    kind = storage.get("kind") if isinstance(storage, dict) else None
    return isinstance(kind, str) and kind in WITH_COMMIT_ORDER


def _as_exhausted(error: Exception, path: Path) -> ResourceExhaustedError | None:
    if isinstance(error, ResourceExhaustedError):
        return error
    if isinstance(error, OSError) and error.errno != errno.EROFS:  # it may be read-only on purpose
        return exhaustion.as_exhausted(error, error.filename or path)
    return None


def judge_file(
    history: Path, commits: Path | None = None, stage: Stage = ignore, *, same_run: bool = False
) -> Judged:
    """Judge a history, with the storage's commit log if there is one.

    `same_run`: both are in one run's folder, so the log is evidence even if nothing in it matches, and
    no link is followed.

    Writes nothing.
    """
    stage(f"reading {history.name}")
    within = history.parent if same_run else None
    recorded = _read(history, within)
    order = None if commits is None else read_commits(commits, within=within)
    if order and not recorded.operations:  # a client records a request before it sends it
        writes = count(len(order), "write")
        problem = f"the history has no operation, but the storage has an order of {writes}"
        raise HistoryError(str(history), 1, f"{problem}: its lines were removed; restore them")
    stage(f"judging {len(recorded.operations):,} operations")
    verdict = judge(recorded, order, same_run=same_run)
    notices = (*recorded.notices, *verdict.notices, *doubts(recorded))
    return Judged(
        verdict=verdict,
        document=verdict.documented(history),
        history=recorded,
        commits=order,
        notices=notices,
    )


def _read(path: Path, within: Path | None) -> History:
    """Read one of our histories; HistoryError for another tool's says how to judge it."""
    try:
        return read(path, within=within)
    except HistoryError as error:
        other = _what_else(path) if error.line == 1 else None
        if other is None:
            raise
        raise ConfigurationError(f"{path}: {other}") from None


def _what_else(path: Path) -> str | None:
    """Say what a file is that is not one of our histories; None if it looks like a broken one."""
    found: formats.Format | None = None
    try:
        text = read_text(path)
        found = formats.detect(text)
        if found is not formats.Format.FENCEPOST:
            known = formats.parse(text)
            is_half = text.is_one_line and text.half_written() in known.notices
            if is_half and found is formats.Format.JEPSEN_JSON:
                return "its only line is half written: it may be the cut-off beginning of a history.jsonl"
        elif text.compressed:
            return "it is compressed; decompress it with gunzip, and name the result"
    except HistoryError as error:
        if found is None and not error.line:
            return error.problem
        if error.line <= 1:
            return f"{formats.NOT_A_HISTORY}; {formats.ACCEPTED}"
    if found is None or found is formats.Format.FENCEPOST:
        return None
    return (
        f'it does not begin with the header {{"fencepost":1,…}}, but looks like {found}:'
        " to judge another tool's history, name its model: --model cas-register"
    )


def recheck(path: Path, commits: Path | None = None, stage: Stage = ignore) -> Judged:
    """Judge a run's folder or a history file again; `stage` gets the name of each slow stage.

    If the harness was killed, the recordings of its processes are merged first.
    Raises HistoryError for an invalid history, ConfigurationError if there is no history.
    """
    if path.is_dir():
        if commits is not None:
            raise ConfigurationError(
                f"--commits needs a history file, but {path} is a run folder: drop --commits"
            )
        with open_for_judging(path):
            return judge_folder(path, stage)
    if not path.exists():
        raise ConfigurationError(f"there is no run and no history at {path}")
    return judge_file(path, commits, stage)


@contextmanager
def open_for_judging(path: Path) -> Iterator[None]:
    """Check all files of a run's folder, and keep other processes from judging it at the same time.

    Raises ConfigurationError if it has no recording, and HistoryError for files that no run writes.
    """
    if not received.exists(path, HISTORY) and not received.exists(path, EVENTS):
        raise ConfigurationError(f"{path} is not a run folder: it has neither {HISTORY} nor {EVENTS}/")
    run_files.check(path)
    with RunFolder(path).in_use():
        yield


def _write_reports(path: Path, judged: Judged) -> None:
    from harness.report import junit, run  # slow to import

    junit.write(path, judged.document, judged.history)
    run.write(path, Parsed(verdict=judged.document, history=judged.history, commits=judged.commits))
