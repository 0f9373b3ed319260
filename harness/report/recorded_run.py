"""A run folder, as far as it was written: only the verdict must be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from checkers.document import VerdictDocument
from checkers.errors import HistoryError
from checkers.history import reader
from checkers.history.lines import HeaderLine, Nanoseconds
from checkers.history.reader import Commit, History
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.files import run_files
from harness.files.column_folder import column_folder
from harness.files.run_folder import HEADER, PLAN, VERDICT
from harness.target.toml import loads


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a run left behind. `problems` are sentences about what could not be read."""

    folder: Path
    verdict: dict[str, Any]
    history: History | None
    commits: Sequence[Commit] | None  # None: the storage gave no order
    plan: dict[str, Any]
    environment: dict[str, Any]
    target_file: str | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What whoever has just judged a run need not read again."""

    verdict: dict[str, Any]
    history: History
    commits: Sequence[Commit] | None


def load(folder: Path, parsed: Parsed | None = None) -> Recorded:
    """Read what is there and not `parsed`. A missing or torn file costs its part of the report alone.

    Raises ConfigurationError where there is no verdict to report, and HistoryError where
    something in the folder is no file that a run writes.
    """
    run_files.check(folder)
    problems: list[str] = []
    verdict = parsed.verdict if parsed else _document(folder, VERDICT, problems, VerdictDocument)
    if "verdict" not in verdict:
        reason = problems[0] if problems else "it has no verdict.json"
        message = f"{folder} cannot be reported: {reason}; `{typed('recheck', folder)}` judges it"
        raise ConfigurationError(message)
    return Recorded(
        folder=folder,
        verdict=verdict,
        history=parsed.history if parsed else _history(folder / "history.jsonl", problems),
        commits=parsed.commits if parsed else _commits(folder / "commits.jsonl", problems),
        plan=_document(folder, PLAN, problems, _Plan),
        environment=_document(folder, run_files.ENVIRONMENT, problems, dict[str, Any]),
        target_file=run_files.text(folder, run_files.TARGET),
        problems=tuple(problems),
    )


class _Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What a report says of a fault in plan.json; `harness.nemesis.plan` writes them."""

    kind: str = ""
    target: str = ""
    resource: str | None = None
    at: str | None = None
    in_force: Nanoseconds | None = None
    healed: Nanoseconds | None = None
    evidence: str | None = None
    healed_evidence: str | None = None


class _Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a report says of plan.json."""

    seed: int | None = None
    faults: list[_Fault] = []


_COSTS = {
    HEADER: "nothing is lost: the history has the same header",
    PLAN: "whether the run was interrupted and how its faults were seen in force is not known",
    run_files.ENVIRONMENT: "versions, the engine and the options that repeat the run are not known",
    run_files.TARGET: "the run cannot be repeated from it",
}


def unread(folder: Path) -> Iterator[str]:
    """Say of each file of a judged run that is there and broken what its loss costs."""
    for name, kind in ((HEADER, HeaderLine), (PLAN, _Plan), (run_files.ENVIRONMENT, dict[str, Any])):
        problems: list[str] = []
        _document(folder, name, problems, kind)
        yield from (f"{problem}; {_COSTS[name]}" for problem in problems)
    try:
        loads((run_files.content(folder, run_files.TARGET) or b"").decode())
    except ValueError as error:  # also what is no UTF-8
        yield f"{run_files.TARGET} could not be read: {error}; {_COSTS[run_files.TARGET]}"


def _document(folder: Path, name: str, problems: list[str], kind: Any) -> dict[str, Any]:
    """Read a document of a kind as a dictionary, which is empty where the file is none."""
    raw = run_files.content(folder, name)
    if raw is None:
        return {}
    try:
        document: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(raw, type=kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        problems.append(f"{name} could not be read: {error}")
        return {}
    return document


def _history(path: Path, problems: list[str]) -> History | None:
    if not path.is_file():
        problems.append("There is no history.jsonl, so there is no timeline.")
        return None
    try:
        return reader.read(path, cache=column_folder())
    except HistoryError as error:
        problems.append(f"The history could not be read: {error}")
        return None


def _commits(path: Path, problems: list[str]) -> Sequence[Commit] | None:
    if not path.is_file():
        return None
    try:
        return reader.read_commits(path)
    except HistoryError as error:
        problems.append(f"The storage's order could not be read: {error}")
        return None
