"""The user's cache and state folders, by the XDG standard.

The cache keeps the pages of run folders whose own page is a stranger's or could become one; the state has
notes on runs, and digests that this machine keeps.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from harness.core.errors import ConfigurationError
from harness.files import private_folder
from harness.files.atomic_files import replace_file
from harness.files.private_folder import UnsafeFolderError

MOST_PAGES = 20
"""Pages that are kept; the oldest are removed."""


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


def keep_page(html: str) -> Path:
    """Write a page, and return its path; ConfigurationError if there is no folder for it."""
    folder = cache_folder() / "pages"
    if problem := unusable(folder):
        raise ConfigurationError(f"there is no folder for the page: {problem}")
    page = folder / f"{hashlib.sha256(html.encode(errors='replace')).hexdigest()}.html"
    replace_file(page, [html])
    pages = sorted(folder.glob("*.html"), key=lambda each: each.lstat().st_mtime_ns)
    for old in pages[:-MOST_PAGES]:
        old.unlink(missing_ok=True)
    return page


class NoStateFolderError(Exception):
    """There is no folder that only this user can write to; `str()` says why."""


def state_folders() -> tuple[Path, Path]:
    """Return XDG's state folder, and a temporary one for when that is read-only; neither may exist."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # XDG requires it, and a relative one could be in a run folder
        state = Path(os.path.expanduser("~/.local/state"))  # noqa: PTH111 - without a home, it stays as it is
    temporary = Path(tempfile.gettempdir()) / f"fencepost-state-{os.geteuid()}"
    return state / "fencepost", temporary


def writable_state_folder() -> Path:
    """Return the first of them that can be used, and create it; NoStateFolderError if none can."""
    reasons = []
    for folder in state_folders():
        try:
            private_folder.make(folder)
        except (OSError, UnsafeFolderError) as error:
            reasons.append(f"{folder}: {error}")
        else:
            return folder
    raise NoStateFolderError("; ".join(reasons))
