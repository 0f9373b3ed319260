"""A run folder, possibly incomplete: only the verdict is required."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from checkers.history import reader
from checkers.history.commits import read_commits
from checkers.history.lines import HeaderLine
from checkers.history.records import Commit, History
from checkers.text.errors import HistoryError
from checkers.vocabulary.document import VerdictDocument
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.files import run_files
from harness.files.run_folder import COMMITS, HEADER, HISTORY, PLAN, VERDICT
from harness.report.environment_facts import Environment, surroundings
from harness.report.recorded_plan import RecordedPlan
from harness.spec.toml import loads


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """What a run recorded. `problems` are sentences about what could not be read."""

    folder: Path
    verdict: VerdictDocument
    history: History | None
    commits: Sequence[Commit] | None  # None: the storage gave no order
    plan: RecordedPlan
    environment: Environment
    target_file: str | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What is already in memory, because the run was just judged."""

    verdict: VerdictDocument
    history: History
    commits: Sequence[Commit] | None


def load(folder: Path, parsed: Parsed | None = None) -> RecordedRun:
    """Read what exists and is not `parsed`. A missing or damaged file costs only its part of the report.

    Raises ConfigurationError if there is no verdict to report, and HistoryError if
    something in the folder is not a file that a run writes.
    """
    run_files.check(folder)
    problems: list[str] = []
    verdict = parsed.verdict if parsed else _document(folder, VERDICT, problems, VerdictDocument)
    if verdict is None:
        reason = problems[0] if problems else "it has no verdict.json"
        judge = typed("recheck", folder)
        raise ConfigurationError(f"{folder} cannot be reported: {reason}", f"judge it first: {judge}")
    return RecordedRun(
        folder=folder,
        verdict=verdict,
        history=parsed.history if parsed else _history(folder, problems),
        commits=parsed.commits if parsed else _commits(folder, problems),
        plan=_document(folder, PLAN, problems, RecordedPlan) or RecordedPlan(),
        environment=surroundings(_document(folder, run_files.ENVIRONMENT, problems, _FREE) or {}),
        target_file=run_files.text(folder, run_files.TARGET),
        problems=tuple(problems),
    )


def recorded_plan(folder: Path) -> RecordedPlan:
    """Read plan.json; without any content if it is missing or cannot be read."""
    try:
        return _document(folder, PLAN, [], RecordedPlan) or RecordedPlan()
    except HistoryError:
        return RecordedPlan()


_Document = TypeVar("_Document")
_FREE = dict[str, Any]  # engines write what they know

_COSTS = {
    HEADER: "nothing is lost: the history has the same header",
    PLAN: "whether the run was interrupted and how its faults were observed is not known",
    run_files.ENVIRONMENT: "versions, the engine and the options that repeat the run are not known",
    run_files.TARGET: "the run cannot be repeated from it",
}


def unread(folder: Path) -> Iterator[str]:
    """Say what is lost, for each file of a judged run that exists and cannot be read."""
    for name, kind in ((HEADER, HeaderLine), (PLAN, RecordedPlan), (run_files.ENVIRONMENT, _FREE)):
        problems: list[str] = []
        _document(folder, name, problems, kind)
        yield from (f"{problem}; {_COSTS[name]}" for problem in problems)
    try:
        loads((run_files.content(folder, run_files.TARGET) or b"").decode())
    except ValueError as error:  # also if it is not UTF-8
        yield f"{run_files.TARGET} could not be read: {error}; {_COSTS[run_files.TARGET]}"


def _document(folder: Path, name: str, problems: list[str], kind: type[_Document]) -> _Document | None:
    """Read a JSON document; None if it is missing, or has the wrong form, which is a problem."""
    raw = run_files.content(folder, name)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        problems.append(f"{name} could not be read: {error}")
        return None


def _history(folder: Path, problems: list[str]) -> History | None:
    if not run_files.has(folder, HISTORY):
        problems.append("There is no history.jsonl, so there is no timeline.")
        return None
    try:
        return reader.read(folder / HISTORY, within=folder)
    except HistoryError as error:
        problems.append(f"The history could not be read: {error}")
        return None


def _commits(folder: Path, problems: list[str]) -> Sequence[Commit] | None:
    if not run_files.has(folder, COMMITS):
        return None
    try:
        return read_commits(folder / COMMITS, within=folder)
    except HistoryError as error:
        problems.append(f"The storage's order could not be read: {error}")
        return None
