"""Selection of a run or a history by a word on the command line."""

from __future__ import annotations

from pathlib import Path

from checkers.text import limits
from checkers.text.printable import shorten
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.core.paths import path_of
from harness.core.printing import say
from harness.core.suggestions import did_you_mean
from harness.files import dated_folders, received, run_files
from harness.files.run_folder import EVENTS, HISTORY

STANDARD_INPUT = Path("-")
"""In place of a history's file."""

_OPERATIONS = "operations.json"
_FOREIGN = (
    "history.edn",
    "history.edn.gz",
    "history.json",
    "history.json.gz",
    "history.jsonl.gz",  # our own, which is judged by a model as it is
    "history.txt",
    _OPERATIONS,
)
"""The histories that a folder of another tool stands for, such as Jepsen's store/; the first that it has."""
_CLIENTS = "client-"  # the folders of a report of etcd's robustness tests, with operations.json
_RECORDED = (".edn", ".json", ".jsonl", ".log", ".txt", ".gz")


def run_folder(word: str, runs: Path) -> Path:
    """Find a run by its folder, a file in it, or its target (the newest); ConfigurationError without one."""
    found = file_or_folder(word, runs)
    if found.is_file():
        if is_run(found.parent):
            return found.parent
        raise ConfigurationError(
            f"{_as_typed(found, word)} is not in the folder of a run: name that folder, or a file in it"
        )
    if is_run(found):
        return found
    raise _no_run(found, _as_typed(found, word))


def file_or_folder(word: str, runs: Path) -> Path:
    """Find what a word names: a file, a folder, or a target, for the folder of its newest run.

    A plain name is a target if one of that name has run; a path, or a name with a suffix, only if there is
    no such file. Raises ConfigurationError if there is nothing, or a target file in place of a run.
    """
    path, below = path_of(word), path_of(str(runs / word))
    is_path = "/" in word or bool(Path(word).suffix)
    newest = None if path.exists() and is_path else _newest(runs, word)
    if newest is not None:
        if path.exists() and not path.samefile(below):
            kind = "the folder" if path.is_dir() else "the file"
            say(f"{word} is taken as the newest run of that target, {newest}; for {kind} write ./{word}")
        return newest
    if path.is_file():
        return _no_target_file(path, runs)
    if path.is_dir():
        return _run_in(path)
    if path.exists():
        raise ConfigurationError(f"{path} is neither a regular file nor a run's folder")
    if received.is_folder(runs, *path.parts):
        return _run_in(below)
    if below.is_dir():
        raise ConfigurationError(f"{below} is a link; name the folder that it leads to: {below.resolve()}")
    known = [name for name in received.listed(runs) if received.is_folder(runs, name)]
    if not known and not runs.is_dir():
        raise ConfigurationError(
            f"there is no file {shorten(word)}, and no folder {runs} with runs of a target"
        )
    hint = did_you_mean(word, known) if known else f"; the folder {runs} has no runs"
    raise ConfigurationError(f"there is no file, run or target {shorten(word)}{hint}")


def _as_typed(found: Path, word: str) -> str:
    """Name what was found: as the user typed it (a path drops "./"), unless it is elsewhere."""
    return shorten(word) if found == Path(word) else str(found)


def history_of(folder: Path) -> Path:
    """Return the history of a run; raises ConfigurationError if it has none."""
    if run_files.has(folder, HISTORY):
        return folder / HISTORY
    if received.is_folder(folder, EVENTS):
        raise ConfigurationError(
            f"{folder} has no {HISTORY} yet: the run was killed",
            f"judge it first: {typed('recheck', folder)}",
        )
    raise _no_run(folder, str(folder))


def any_history(word: str, runs: Path) -> Path:
    """Find any tool's history: standard input, a file, or one in a folder; ConfigurationError without."""
    if word == str(STANDARD_INPUT):
        return STANDARD_INPUT
    found = file_or_folder(word, runs)
    return found if found.is_file() else foreign_history(found) or history_of(found)


def foreign_history(folder: Path) -> Path | None:
    """Return the history of another tool in its folder; None if there is none, or it is the folder of a run.

    Raises HistoryError if that is not a regular file within its limit.
    """
    if is_run(folder):
        return None
    found = next((name for name in _FOREIGN if _has(folder, name)), None)
    if found is not None:
        return folder / found
    clients = (name for name in received.listed(folder) if name.startswith(_CLIENTS))
    report = (
        name for name in clients if received.is_folder(folder, name) and _has(folder, name, _OPERATIONS)
    )
    return next((folder / name / _OPERATIONS for name in report), None)


def _has(folder: Path, *names: str) -> bool:
    return received.size(folder, *names, most=limits.HISTORY, remedy=limits.SPLIT) is not None


def _no_run(folder: Path, named: str) -> ConfigurationError:
    """Say what to name instead: the file in a folder that may be a history, if only one may."""
    files = [name for name in received.listed(folder) if name.endswith(_RECORDED)]
    likely = [name for name in files if received.size_of(folder, name)]
    remedy = (
        f"if {shorten(likely[0])} in it is one, name that file"
        if len(likely) == 1
        else "name a run's folder, a target that has run, or a history file"
    )
    return ConfigurationError(f"{named} is not a run folder: it has no {HISTORY}; {remedy}")


def _newest(runs: Path, word: str) -> Path | None:
    """Return the folder of a target's newest run; None if it has none."""
    if not (received.COMPONENT.fullmatch(word) and received.is_folder(runs, word)):
        return None
    found = _run_in(runs / word)
    return found if is_run(found) else None


def _no_target_file(file: Path, runs: Path) -> Path:
    """Return a file that may be a history; for a target file of a run, the run's folder."""
    if file.suffix != ".toml":
        return file
    if is_run(file.parent):
        return file.parent
    named = file.stem if received.is_folder(runs, file.stem) else "its target's name, or the run's folder"
    raise ConfigurationError(f"{file} is a target file; name a run of it: {named}")


def _run_in(folder: Path) -> Path:
    return folder if is_run(folder) else dated_folders.latest(folder) or folder


def is_run(folder: Path) -> bool:
    """Is it the folder of a run?"""
    return any(received.exists(folder, name) for name in (HISTORY, EVENTS))
