"""What this machine has run out of, in a sentence: disk, file descriptors, memory."""

from __future__ import annotations

import errno
import os
import resource

from harness.errors import NoRoomError

_DISK = {
    errno.ENOSPC: "the disk is full; make room on it",
    errno.EDQUOT: "this user's disk quota is used up; make room",
    errno.EFBIG: "it reached the limit for the size of a file; raise it: ulimit -f unlimited",
}
USED_UP = frozenset({*_DISK, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""The errors of the system that say so."""


def sentence(error: OSError, path: str | os.PathLike[str] | None = None) -> str:
    """Say what is used up, with the file or the limit; `path` where the error does not know it."""
    file = error.filename if path is None else path
    if error.errno == errno.EMFILE:
        return too_few_descriptors()
    if error.errno == errno.ENFILE:
        return "all files that this machine can have open are open; raise fs.file-max"
    if error.errno in _DISK and file is not None:
        return f"{os.fspath(file)} cannot be written: {_DISK[error.errno]}"
    return str(error) if file is None else f"{os.fspath(file)}: {error.strerror}"


def too_few_descriptors() -> str:
    """Name the limit of this process, and how to raise it."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"too few file descriptors: the limit is {limit}; raise it, such as with: ulimit -n 4096"


def no_room(error: OSError, path: str | os.PathLike[str]) -> NoRoomError | None:
    """The error to raise for what went wrong with a file, if something is used up."""
    return NoRoomError(sentence(error, path), error.errno) if error.errno in USED_UP else None
