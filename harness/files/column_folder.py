"""The cache of columns of long histories, in the user's cache folder, writable only by the user.

Columns are trusted, but a run folder may come from a stranger, so none are read from it. Without
a folder that can be trusted, each history is read line by line, which only takes longer.
"""

from __future__ import annotations

from pathlib import Path

from checkers.history import column_cache
from checkers.text.limits import described
from harness.files.cache_folder import cache_folder, unusable


def place() -> Path:
    """Return the folder, which may not exist."""
    return cache_folder() / "columns"


def column_folder() -> Path | None:
    """Create the folder if it does not exist; None if it cannot be used."""
    return None if why_not() else place()


def why_not() -> str | None:
    """Say why columns cannot be cached; None if they can."""
    return unusable(place())


def remove() -> str | None:
    """Remove all columns, and say what was removed; None if there was nothing."""
    if column_folder() is None:
        return None
    before = size()
    column_cache.trim(place(), 0)
    freed = before - size()
    return f"{described(freed)} of columns in {place()}" if freed else None


def size() -> int:
    """Return the size of the cache in bytes."""
    folder = place()
    return sum(file.lstat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
