"""What the words on the command line select: targets, and runs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checkers.history.files import inside
from checkers.printable import shorten
from harness.core.errors import ConfigurationError
from harness.core.invocation import typed
from harness.core.paths import path_of
from harness.core.suggestions import did_you_mean
from harness.files.run_folder import EVENTS, HISTORY
from harness.target.reading import shipped

LATEST = "latest"  # beside the runs of a target, a link to the newest


@dataclass(frozen=True, slots=True)
class Selection:
    """The targets that words select, each once, and a sentence for each word that selects none."""

    names: tuple[str, ...]
    empty: tuple[str, ...]


def targets(words: Iterable[str]) -> Selection:
    """Expand `etcd-*` to shipped targets and a folder to its files; other words stay as they are."""
    selected: dict[str, None] = {}
    empty = []
    for word in dict.fromkeys(words):
        if _is_folder(word):
            names, why_none = _in_folder(word), f"the folder {word} holds no *.toml"
        elif any(character in word for character in "*?[") and not path_of(word).exists():
            names, why_none = _matching(word), f"no target that ships is called like {shorten(word)}"
        else:
            names, why_none = [word], ""
        selected |= dict.fromkeys(names)
        empty += [why_none] * (not names)
    return Selection(tuple(selected), tuple(empty))


def _is_folder(word: str) -> bool:
    return bool(word.strip()) and path_of(word).is_dir()


def _matching(pattern: str) -> list[str]:
    try:
        return fnmatch.filter(shipped(), pattern)
    except re.error:  # such as [!z-a]
        return []


def _in_folder(word: str) -> list[str]:
    return sorted(str(file) for file in Path(word).glob("*.toml"))


def run_folder(word: str, runs: Path) -> Path:
    """Find a run by its folder, a file in it, or its target's name (then the newest).

    Raises ConfigurationError where there is none.
    """
    path = path_of(word)
    if path.is_file():
        return path.parent
    for folder in (path, path_of(str(runs / path))):
        if folder.is_dir():
            return folder / LATEST if (folder / LATEST).is_dir() else folder
    if path.exists():
        raise ConfigurationError(f"{path} is neither a regular file nor a run's folder")
    known = [folder.name for folder in runs.glob("*") if folder.is_dir()]
    hint = did_you_mean(word, known) if known else f"; {runs} holds no run"
    raise ConfigurationError(f"there is no file, run or target {shorten(word)}{hint}")


def history_file(word: str, runs: Path) -> Path:
    """Find a history: a file, or that of a run, which is named as for `run_folder`.

    Raises ConfigurationError where there is none.
    """
    path = path_of(word)
    if path.is_file():
        return path
    folder = run_folder(word, runs)
    if (folder / HISTORY).is_file():
        return inside(folder, HISTORY)
    if (folder / EVENTS).is_dir():
        raise ConfigurationError(
            f"{folder} has no {HISTORY} yet: the run was killed; `{typed('recheck', folder)}` joins one"
        )
    raise ConfigurationError(f"{folder} is no run: it has no {HISTORY}")
