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

JEPSEN = "history.edn"
"""The history in a folder of Jepsen's store/."""


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
    raise ConfigurationError(f"{folder} is not a run folder: it has no {HISTORY}")


def any_history(word: str, runs: Path) -> Path:
    """Find the history of any tool: standard input, Jepsen's in its folder, or as `history_file`.

    Raises ConfigurationError if there is none.
    """
    if word == str(STANDARD_INPUT):
        return STANDARD_INPUT
    folder = None if path_of(word).is_file() else run_folder(word, runs)
    if folder is not None and has_jepsens(folder):
        return folder / JEPSEN
    return history_file(word, runs)


def has_jepsens(folder: Path) -> bool:
    """Is it a folder of Jepsen's store/, with a history, and not a run's?

    Raises HistoryError if that is not a regular file within its limit.
    """
    return (
        not is_run(folder)
        and received.size(folder, JEPSEN, most=limits.HISTORY, remedy=limits.SPLIT) is not None
    )


def _run_of(file: Path) -> Path:
    if is_run(file.parent):
        return file.parent
    raise ConfigurationError(f"{file} is not in the folder of a run: name that folder, or a file in it")


def _run_in(folder: Path) -> Path:
    return folder if is_run(folder) else dated_folders.latest(folder) or folder


def is_run(folder: Path) -> bool:
    """Is it the folder of a run?"""
    return any(received.exists(folder, name) for name in (HISTORY, EVENTS))
