"""Selection of targets by words on the command line: names, patterns and folders."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checkers.text.printable import shorten
from harness.core.errors import ConfigurationError
from harness.core.paths import path_of
from harness.spec.reading import shipped


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected targets, each once, and a sentence for each word that selects none."""

    names: tuple[str, ...]
    empty: tuple[str, ...]


def targets(words: Iterable[str]) -> Selection:
    """Expand `etcd-*` to shipped targets and a folder to its files; other words stay as they are."""
    selected: dict[str, None] = {}
    empty = []
    for word in dict.fromkeys(words):
        if word.strip() and path_of(word).is_dir():
            names, why_none = found(Path(word).glob("*.toml")), f"the folder {word} has no *.toml"
        elif any(character in word for character in "*?[") and not path_of(word).exists():
            names, why_none = _matching(word), f"no shipped target matches {shorten(word)}"
        else:
            names, why_none = [word], ""
        selected |= dict.fromkeys(names)
        empty += [why_none] * (not names)
    return Selection(tuple(selected), tuple(empty))


def _matching(pattern: str) -> list[str]:
    try:
        return fnmatch.filter(shipped(), pattern)
    except re.error:  # such as [!z-a]
        return []


def found(files: Iterable[Path]) -> list[str]:
    """Return the names of target files that were found in a folder, which may come from a stranger.

    Raises ConfigurationError for links out of their folder: an error would show lines of the user's files.
    """
    names = sorted(files)
    real = {file: Path(os.path.realpath(file)) for file in names if file.is_symlink()}
    out = [file for file in real if not real[file].is_relative_to(os.path.realpath(file.parent))]
    if out:
        named = "is a link out of its folder; name the file that it leads to"
        raise ConfigurationError(*(f"{file} {named}: {real[file]}" for file in out))
    return list(map(str, names))
