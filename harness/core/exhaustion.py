"""Exhausted resources of this machine, described in a sentence: disk, file descriptors, memory."""

from __future__ import annotations

import errno
import os
import resource

from harness.core.errors import ResourceExhaustedError

_DISK = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "this user's disk quota is used up; free some space",
    errno.EROFS: "its file system is read-only",
    errno.EFBIG: "it reached the limit for the size of a file; raise it: ulimit -f unlimited",
}
_DESCRIPTORS = 256  # etcd alone wants 150
_PER_EDGE = 8  # both ends of two connections between a client and a server, and some that are closing
USED_UP = frozenset({*_DISK, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""The errno values that mean exhaustion."""


def sentence(error: OSError, path: str | os.PathLike[str] | None = None) -> str:
    """Name the exhausted resource, and the file or the limit; `path` if the error has none."""
    file = error.filename if path is None else path
    if error.errno == errno.EMFILE:
        return too_few_descriptors()
    if error.errno == errno.ENFILE:
        return "this machine has reached its limit of open files; raise fs.file-max"
    if error.errno in _DISK and file is not None:
        return f"{os.fspath(file)} cannot be written: {_DISK[error.errno]}"
    return str(error) if file is None else f"{os.fspath(file)}: {error.strerror}"


def too_few_descriptors() -> str:
    """Name this process' limit of file descriptors, and how to raise it."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"too few file descriptors: the limit is {limit}; raise it, for example: ulimit -n 4096"


def descriptors_for(edges: int) -> int:
    """Return how many file descriptors any process of a run (server, proxy or harness) may need."""
    return _DESCRIPTORS + _PER_EDGE * edges


def provide_descriptors(needed: int) -> None:
    """Raise the limit of this process, which child processes inherit, to `needed` if it is lower.

    Raises ResourceExhaustedError if that is not allowed: a later failure would be harder to understand.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            message = f"{too_few_descriptors()} (this run needs about {needed})"
            raise ResourceExhaustedError(message, errno.EMFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def as_exhausted(error: OSError, path: str | os.PathLike[str]) -> ResourceExhaustedError | None:
    """Return the error to raise for a failed file operation if a resource is used up, otherwise None."""
    return ResourceExhaustedError(sentence(error, path), error.errno) if error.errno in USED_UP else None
