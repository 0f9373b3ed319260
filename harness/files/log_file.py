"""Files that grow: what a process says or records, line by line."""

from __future__ import annotations

import os
from pathlib import Path

from harness.files.atomic_files import PRIVATE

_GROWING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def open_log(path: Path, *, new: bool = False) -> int:
    """Open a file to append to it, and return its descriptor; with `new` it must not be there yet.

    It is not opened through a symbolic link, and only this user can read it.
    """
    return os.open(path, _GROWING | (os.O_EXCL if new else 0), PRIVATE)
