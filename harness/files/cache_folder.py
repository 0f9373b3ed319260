"""Where what can be made again is kept: XDG's cache folder of this user."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Name our part of it; it need not be there, and one that is not absolute is not to be used."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(caches) / "fencepost"
