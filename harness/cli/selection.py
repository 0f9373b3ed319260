"""Selection of a run or a history by a word on the command line."""

from __future__ import annotations

from pathlib import Path

from checkers.text import limits
from checkers.text.printable import shorten
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.core.paths import path_of
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
    """Find a run by its folder, a file in it, or its target's name (then the newest).

    Raises ConfigurationError if there is none.
    """
    path = path_of(word)
    if path.is_file():
        return _run_of(path)
    if path.is_dir():
        return _run_in(path)
    if path.exists():
        raise ConfigurationError(f"{path} is neither a regular file nor a run's folder")
    below = path_of(str(runs / path))
    if received.is_folder(runs, *path.parts):
        return _run_in(below)
    if below.is_dir():
        raise ConfigurationError(f"{below} is a link; name the folder that it leads to: {below.resolve()}")
    known = [name for name in received.listed(runs) if received.is_folder(runs, name)]
    hint = did_you_mean(word, known) if known else f"; the folder {runs} has no runs"
    raise ConfigurationError(f"there is no file, run or target {shorten(word)}{hint}")


def history_file(word: str, runs: Path) -> Path:
    """Find a history: a file, or the history of a run, named as for `run_folder`.

    Raises ConfigurationError if there is none.
    """
    path = path_of(word)
    if path.is_file():
        return path
    return history_of(run_folder(word, runs))


def history_of(folder: Path) -> Path:
    """Return the history of a run; raises ConfigurationError if it has none."""
    if run_files.has(folder, HISTORY):
        return folder / HISTORY
    if received.is_folder(folder, EVENTS):
        raise ConfigurationError(
            f"{folder} has no {HISTORY} yet: the run was killed",
            f"judge it first: {typed('recheck', folder)}",
        )
    raise ConfigurationError(f"{folder} is not a run folder: it has no {HISTORY}{_file_in(folder)}")


def any_history(word: str, runs: Path) -> Path:
    """Find the history of any tool: standard input, another tool's in its folder, or as `history_file`.

    Raises ConfigurationError if there is none.
    """
    if word == str(STANDARD_INPUT):
        return STANDARD_INPUT
    folder = None if path_of(word).is_file() else run_folder(word, runs)
    return history_file(word, runs) if folder is None else foreign_history(folder) or history_of(folder)


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


def _file_in(folder: Path) -> str:
    """The advice to name a file in a folder, if one may be a history."""
    files = (name for name in received.listed(folder) if name.endswith(_RECORDED))
    found = next((name for name in files if received.size_of(folder, name)), None)
    return "" if found is None else f"; if {shorten(found)} in it is one, name that file"


def _run_of(file: Path) -> Path:
    if is_run(file.parent):
        return file.parent
    raise ConfigurationError(f"{file} is not in the folder of a run: name that folder, or a file in it")


def _run_in(folder: Path) -> Path:
    return folder if is_run(folder) else dated_folders.latest(folder) or folder


def is_run(folder: Path) -> bool:
    """Is it the folder of a run?"""
    return any(received.exists(folder, name) for name in (HISTORY, EVENTS))
