"""Where the columns of long histories are kept: the user's cache folder, which nobody else can write to.

A run's folder may have come from a stranger, and columns are believed; so they are never
looked for in one. Where no folder can be trusted, each history is read line by line, which
takes longer and changes nothing.
"""

from __future__ import annotations

from pathlib import Path

from checkers.history import column_cache
from checkers.history.limits import described
from harness.files import private_folder
from harness.files.cache_folder import cache_folder
from harness.files.private_folder import UnsafeFolderError


def place() -> Path:
    """Name the folder; it need not be there."""
    return cache_folder() / "columns"


def column_folder() -> Path | None:
    """Make the folder, if it is not there; None where it cannot be used."""
    return None if why_not() else place()


def why_not() -> str | None:
    """Say why no columns can be kept, or None if they can."""
    folder = place()
    if not folder.is_absolute():  # as XDG has it, and a run's folder may be the current one
        return f"{folder} is not absolute, so it is not used"
    try:
        private_folder.make(folder.parent)
        private_folder.make(folder)
    except (OSError, UnsafeFolderError) as error:
        return f"{folder}: {error}"
    return None


def remove() -> str | None:
    """Remove all columns, and say what was removed; each history is read once more."""
    if column_folder() is None:
        return None
    before = size()
    column_cache.trim(place(), 0)
    freed = before - size()
    return f"{described(freed)} of columns in {place()}" if freed else None


def size() -> int:
    """How many bytes are in it."""
    folder = place()
    return sum(file.lstat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
