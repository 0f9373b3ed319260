"""The user's cache folder, by the XDG standard."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return our folder in it; it may not exist, and a relative one must not be used."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - a string, as from the environment
    return Path(caches) / "fencepost"
