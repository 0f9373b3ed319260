"""Private folders, to which no other user can have written.

Another user may have created a folder under a predictable name, or put a symbolic link
there. So a folder is opened first, without following a link, and then checked; its files
are opened relative to that descriptor.
"""

from __future__ import annotations

import grp
import os
import pwd
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
    """Yield the descriptor of a folder that only this user can write to; UnsafeFolderError, or OSError."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        if folder.is_symlink():
            raise UnsafeFolderError("it is a symbolic link") from None
        raise
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise UnsafeFolderError(f"it belongs to user {found.st_uid}, not to user {os.geteuid()}")
        if found.st_mode & _OTHERS_WRITE:
            raise UnsafeFolderError(f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})")
        yield descriptor
    finally:
        os.close(descriptor)


def make(folder: Path) -> None:
    """Create a private folder and its parents, unless they exist; UnsafeFolderError, or OSError."""
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


def others_can_replace(file: Path) -> bool:
    """Can another user than root write to a file, or put another one in its place?"""
    real = file.resolve()
    return any(_is_exposed(each.stat()) for each in (real, *real.parents))


def _is_exposed(found: os.stat_result) -> bool:
    if found.st_uid not in {0, os.geteuid()}:
        return True
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False  # as in /tmp: what is in it can only be replaced by its owner
    others = stat.S_IWOTH if _is_private_group(found.st_gid) else _OTHERS_WRITE
    return bool(found.st_mode & others)


def _is_private_group(group: int) -> bool:
    """Is it the user's own group, which many systems let write to whatever the user makes?"""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and {*found.gr_mem} <= {name}
