"""The user's state folder, by the XDG standard: notes on runs, and digests that this machine keeps."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness.files import private_folder
from harness.files.private_folder import UnsafeFolderError


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
