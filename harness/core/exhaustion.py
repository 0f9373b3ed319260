"""What this machine has run out of, in a sentence: disk, file descriptors, memory."""

from __future__ import annotations

import errno
import os
import resource

from harness.core.errors import ResourceExhaustedError

_DISK = {
    errno.ENOSPC: "the disk is full; make room on it",
    errno.EDQUOT: "this user's disk quota is used up; make room",
    errno.EFBIG: "it reached the limit for the size of a file; raise it: ulimit -f unlimited",
}
_DESCRIPTORS = 256  # etcd alone wants 150
_PER_EDGE = 8  # from a client to a server: both ends of two connections, and some that are about to close
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


def descriptors_for(edges: int) -> int:
    """How many file descriptors a process of a run may need: a server, a proxy or the harness."""
    return _DESCRIPTORS + _PER_EDGE * edges


def provide_descriptors(needed: int) -> None:
    """Raise this process' limit, which all that it starts inherits, if that many are more than it has.

    Raises ResourceExhaustedError where it may not: the run would fail somewhere in the middle, and say less.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            message = f"{too_few_descriptors()} (this run needs about {needed})"
            raise ResourceExhaustedError(message, errno.EMFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def as_exhausted(error: OSError, path: str | os.PathLike[str]) -> ResourceExhaustedError | None:
    """The error to raise for what went wrong with a file, if something is used up."""
    return ResourceExhaustedError(sentence(error, path), error.errno) if error.errno in USED_UP else None
