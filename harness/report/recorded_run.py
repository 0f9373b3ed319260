"""A run folder, possibly incomplete: only the verdict is required."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from checkers.history import reader
from checkers.history.commits import read_commits
from checkers.history.lines import HeaderLine, Nanoseconds
from checkers.history.records import Commit, History
from checkers.text.errors import HistoryError
from checkers.text.printable import shorten
from checkers.vocabulary.document import VerdictDocument, WindowsDocument
from harness.core.errors import ConfigurationError
from harness.core.invocation import NOTHING_ELSE, Command, Repetition, typed
from harness.files import run_files
from harness.files.environment import repetition_of
from harness.files.run_folder import COMMITS, HEADER, HISTORY, PLAN, VERDICT
from harness.report.sentences import title
from harness.spec.toml import loads


class RecordedFault(Struct, frozen=True, kw_only=True):
    """One fault, and how it was observed."""

    kind: str = ""
    target: str = ""
    resource: str | None = None
    at: str | None = None  # the stop point, if it waited for one
    in_force: Nanoseconds | None = None
    healed: Nanoseconds | None = None
    evidence: str | None = None
    healed_evidence: str | None = None


class RecordedPlan(Struct, frozen=True, kw_only=True):
    """What a report reads of plan.json: the seed of a run, the time of its work in ns, and its faults.

    `ended`: None while the clients work, and forever if the run was killed; unset where an
    older version wrote the plan.
    """

    seed: int | None = None
    started: Nanoseconds | None = None
    duration: Nanoseconds | None = None
    ended: Nanoseconds | UnsetType | None = UNSET
    faults: list[RecordedFault] = []
    windows: list[WindowsDocument] = []


_TITLES = {
    "fencepost": "Fencepost",
    "cpus": "CPUs",
    "command": "Started with",
    "folder": "Started in",
    "pythonpath": "PYTHONPATH",
}
_ELSEWHERE = {"servers", "images", "began", "again"}
"""Already shown in the table, at the head of the page, or with the commands."""
_FIRST = ("fencepost", "git_commit", "engine", "command")


_EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where and how a run took place, from environment.json: all that the engine wrote is shown."""

    began: str = ""  # ISO 8601
    engine: str = ""
    repetition: Repetition = NOTHING_ELSE
    columns: tuple[str, ...] = ()  # of the table of servers, without the column of names
    servers: tuple[tuple[str, ...], ...] = ()  # one row each, starting with the name
    facts: tuple[tuple[str, str], ...] = ()  # the rest, by title


def surroundings(environment: Mapping[str, Any]) -> Environment:
    """Split environment.json into servers, by their names, and other facts."""
    about = _mapping(environment.get("servers"))
    images = _mapping(environment.get("images"))
    servers = {name: _server(about.get(name), images.get(name)) for name in sorted({*about, *images})}
    columns = tuple(dict.fromkeys(key for server in servers.values() for key in server))
    engine = environment.get("engine")
    name = engine.get("name") if isinstance(engine, Mapping) else engine
    return Environment(
        began=_plain(environment.get("began", "")),
        engine=_plain(name) if name else "",
        repetition=repetition_of(environment),
        columns=columns,
        servers=tuple(
            (name, *(server.get(column, "") for column in columns)) for name, server in servers.items()
        ),
        facts=tuple(_facts(environment)),
    )


def _server(about: Any, image: Any) -> dict[str, str]:
    """What is known about one server; an image's registry digest is better than its local id."""
    known = dict(_mapping(about))
    image = dict(_mapping(image))
    if image:
        known["image"] = image.get("name")
        known["digest"] = image.get("digests") or image.get("id")
    return {key: _plain(value) for key, value in known.items() if value}


def _facts(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = [*_FIRST, *(name for name in environment if name not in _FIRST)]
    for name in names:
        value = environment.get(name)
        if name not in _ELSEWHERE and value not in _EMPTY:
            shown = (
                str(Command(words=tuple(map(str, value))))
                if name == "command" and isinstance(value, list)
                else _plain(value)
            )
            yield _TITLES.get(name, title(name)), shown


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items() if each not in _EMPTY)
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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


_MOST = 100  # entries of a list or a table
_MOST_STEPS = 50
_MOST_TEXT = 1_000  # characters
_MOST_TARGET = 100_000  # characters
_CUT = "This folder is too large for a page: parts of it were cut."

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
Document = TypeVar("Document", bound=msgspec.Struct)


def trimmed(recorded: RecordedRun) -> RecordedRun:
    """The same, with only the beginning of each list and of each text, so that it fits on a page."""
    target = recorded.target_file
    return replace(
        recorded,
        verdict=_cut(recorded.verdict),
        plan=_cut(recorded.plan),
        environment=_environment(recorded.environment),
        target_file=None if target is None else target[:_MOST_TARGET],
        problems=(*map(_text, recorded.problems[:_MOST]), _CUT),
    )


def _cut(document: Document) -> Document:
    return msgspec.convert(_part(msgspec.to_builtins(document)), type(document))


def _environment(environment: Environment) -> Environment:
    how = environment.repetition
    return replace(
        environment,
        repetition=replace(how, options=_texts(how.options[:_MOST_STEPS])),
        columns=_texts(environment.columns[:_MOST]),
        servers=tuple(_texts(row[: _MOST + 1]) for row in environment.servers[:_MOST]),
        facts=tuple((_text(title), _text(fact)) for title, fact in environment.facts[:_MOST]),
    )


def _part(value: Json) -> Json:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(name): _part(each) for name, each in list(value.items())[:_MOST]}
    if isinstance(value, list):
        most = _MOST_STEPS if value and isinstance(value[0], str) else _MOST
        return [_part(each) for each in value[:most]]
    return value


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_text, texts))


def _text(text: str) -> str:
    return shorten(text, _MOST_TEXT)
