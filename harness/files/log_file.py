"""Append-only files: logs and recordings."""

from __future__ import annotations

import os
from pathlib import Path

from harness.files.atomic_files import PRIVATE

_GROWING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def open_log(path: Path, *, new: bool = False) -> int:
    """Open a file for appending, and return its descriptor; with `new` it must not exist.

    Symbolic links are not followed, and only this user can read the file.
    """
    return os.open(path, _GROWING | (os.O_EXCL if new else 0), PRIVATE)
