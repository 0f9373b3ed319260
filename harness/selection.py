"""What the words on the command line select: targets, and runs."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path

from harness.errors import ConfigurationError
from harness.target.names import did_you_mean
from harness.target.reading import shipped

LATEST = "latest"  # beside the runs of a target, a link to the newest


def targets(words: Iterable[str]) -> list[str]:
    """Expand `etcd-*` to shipped targets and a folder to its files; other words stay as they are."""
    selected = [name for word in words for name in _targets(word)]
    return list(dict.fromkeys(selected))


def _targets(word: str) -> list[str]:
    if Path(word).is_dir():
        return sorted(str(file) for file in Path(word).glob("*.toml"))
    if any(character in word for character in "*?["):
        return fnmatch.filter(shipped(), word)
    return [word]


def run_folder(word: str, runs: Path) -> Path:
    """Find a run by its folder, a file in it, or its target's name (then the newest).

    Raises ConfigurationError where there is none.
    """
    path = Path(word)
    if path.is_file():
        return path.parent
    for folder in (path, runs / path):
        if folder.is_dir():
            return folder / LATEST if (folder / LATEST).is_dir() else folder
    known = [folder.name for folder in runs.glob("*") if folder.is_dir()]
    hint = did_you_mean(word, known) if known else f"; {runs} holds no run"
    raise ConfigurationError(f"there is no run {word}{hint}")
