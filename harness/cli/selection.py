"""Selection of a run or a history by a word on the command line."""

from __future__ import annotations

from pathlib import Path

from checkers.printable import shorten
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.core.paths import path_of
from harness.core.suggestions import did_you_mean
from harness.files import dated_folders, received, run_files
from harness.files.run_folder import EVENTS, HISTORY


def run_folder(word: str, runs: Path) -> Path:
    """Find a run by its folder, a file in it, or its target's name (then the newest).

    Raises ConfigurationError if there is none.
    """
    path = path_of(word)
    if path.is_file():
        return path.parent
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
    hint = did_you_mean(word, known) if known else f"; {runs} has no runs"
    raise ConfigurationError(f"there is no file, run or target {shorten(word)}{hint}")


def history_file(word: str, runs: Path) -> Path:
    """Find a history: a file, or the history of a run, named as for `run_folder`.

    Raises ConfigurationError if there is none.
    """
    path = path_of(word)
    if path.is_file():
        return path
    folder = run_folder(word, runs)
    if run_files.has(folder, HISTORY):
        return folder / HISTORY
    if received.is_folder(folder, EVENTS):
        raise ConfigurationError(
            f"{folder} has no {HISTORY} yet: the run was killed",
            f"judge it first: {typed('recheck', folder)}",
        )
    raise ConfigurationError(f"{folder} is not a run folder: it has no {HISTORY}")


def _run_in(folder: Path) -> Path:
    is_run = any(received.exists(folder, name) for name in (HISTORY, EVENTS))
    return folder if is_run else dated_folders.latest(folder) or folder
