"""Private folders, to which no other user can have written.

Another user may have created a folder under a predictable name, or put a symbolic link
there. So a folder is opened first, without following a link, and then checked; its files
are opened relative to that descriptor.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = 0o077
_OTHERS_WRITE = 0o022


class UnsafeFolderError(Exception):
    """Another user may have written to a folder; `str()` says why."""


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """Open a folder that only this user can have written to, and yield its descriptor.

    Raises UnsafeFolderError, or OSError if it does not exist or cannot be opened.
    """
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        if folder.is_symlink():
            raise UnsafeFolderError("it is a symbolic link") from None
        raise
    try:
        _check(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def make(folder: Path) -> None:
    """Create a folder that only this user can enter, and its parents, unless they exist.

    Raises UnsafeFolderError, or OSError if it cannot be created or written to.
    """
    make_missing(folder)
    with opened(folder) as descriptor:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & _OTHERS:
            os.fchmod(descriptor, PRIVATE)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to")


def make_missing(folder: Path) -> None:
    """Create a folder and its missing parents, so that only this user can enter them."""
    for missing in reversed([each for each in (folder, *folder.parents) if not os.path.lexists(each)]):
        missing.mkdir(mode=PRIVATE, exist_ok=True)


def _check(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise UnsafeFolderError(f"it belongs to user {found.st_uid}, not to user {os.geteuid()}")
    if found.st_mode & _OTHERS_WRITE:
        raise UnsafeFolderError(f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})")
