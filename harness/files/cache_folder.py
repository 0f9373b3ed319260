"""The user's cache folder, by the XDG standard."""

from __future__ import annotations

import os
from pathlib import Path

from harness.files import private_folder
from harness.files.private_folder import UnsafeFolderError


def cache_folder() -> Path:
    """Return our folder in it; it may not exist, and a relative one must not be used."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - a string, as from the environment
    return Path(caches) / "fencepost"


def unusable(folder: Path) -> str | None:
    """Create a folder in the cache folder that only this user can write to, or say why it cannot be used."""
    if not folder.is_absolute():  # XDG requires it, and a relative one could be in a run folder
        return f"{folder} is not absolute; set XDG_CACHE_HOME to an absolute path"
    try:
        private_folder.make(folder.parent)
        private_folder.make(folder)
    except (OSError, UnsafeFolderError) as error:
        return f"{folder}: {error}"
    return None
