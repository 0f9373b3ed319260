"""Append-only files: logs and recordings."""

from __future__ import annotations

import os
from pathlib import Path

from harness.files.atomic_files import PRIVATE

_GROWING = os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def open_log(path: Path, *, new: bool = False, read: bool = False) -> int:
    """Open a file for appending, or also for reading; with `new` it must not exist. Returns its descriptor.

    Symbolic links are not followed, and only this user can read the file.
    """
    access = os.O_RDWR if read else os.O_WRONLY
    return os.open(path, access | _GROWING | (os.O_EXCL if new else 0), PRIVATE)
