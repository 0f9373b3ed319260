"""Files from untrusted sources: only regular ones are read, and only up to a limit.

A pipe might never send anything, a device might never end, and opening one can have side
effects. So a file is checked before it is opened and again when it is open: a replacement in
between is not read.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checkers.errors import HistoryError
from checkers.history.limits import described

_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OUR_OWN = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # not caused by the file
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_PIECE = 1 << 24  # bytes
REMEDY = "it is too large for such a file; check it, and name another"


@contextmanager
def opened(path: Path, most: int, remedy: str = REMEDY) -> Iterator[io.BufferedReader]:
    """Open a file to read it; an OSError while reading becomes an error of that file.

    Raises:
        HistoryError: it does not exist, is not a regular file of at most `most` bytes, or cannot be read.
    """
    try:
        check(path.stat(), str(path), most, remedy)
        with open(os.open(path, _READING), "rb") as file:  # noqa: PTH123 (a descriptor)
            found = os.fstat(file.fileno())
            check(found, str(path), most, remedy)
            if not found.st_size and file.peek(1):
                raise HistoryError(str(path), 0, "the system generates its content; name a file on a disk")
            yield file
    except OSError as error:
        if error.errno in _OUR_OWN or error.filename not in (None, path, str(path)):
            raise
        raise _unreadable(path, error) from None


def check(found: os.stat_result, name: str, most: int, remedy: str = REMEDY) -> None:
    """Raise HistoryError unless it is a regular file of at most `most` bytes."""
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise HistoryError(name, 0, f"this is {what}, and only regular files are read; name one")
    if found.st_size > most:
        raise HistoryError(
            name, 0, f"it has {described(found.st_size)}, and at most {described(most)} are read; {remedy}"
        )


def read_bytes(path: Path, most: int, remedy: str = REMEDY) -> bytes:
    """Read a whole file.

    Raises:
        HistoryError: as `opened`.
    """
    with opened(path, most, remedy) as file:
        content = _read_up_to(file, most + 1)
    if len(content) > most:  # it has grown, or does not report its size
        raise HistoryError(str(path), 0, f"it has more than {described(most)}; {remedy}")
    return content


def _read_up_to(file: io.BufferedReader, most: int) -> bytes:
    """As `read(most)`, which would allocate all that memory at once."""
    pieces = []
    while most > 0 and (piece := file.read(min(most, _PIECE))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def inside(folder: Path, name: str) -> Path:
    """The path of a file in a folder from an untrusted source.

    Raises:
        HistoryError: a symbolic link leads out of the folder.
    """
    path = folder / name
    try:
        leads_to = path.resolve()
        if leads_to.is_relative_to(folder.resolve()) and not leads_to.is_symlink():
            return path
    except (OSError, RuntimeError):  # a circle of links; from Python 3.13 on, it resolves to one of them
        leads_to = path
    raise HistoryError(
        str(path), 0, f"a symbolic link leads out of the folder, to {leads_to}; put the file itself there"
    )


def _unreadable(path: Path, error: OSError) -> HistoryError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HistoryError(str(path), 0, "there is no such file")
    return HistoryError(str(path), 0, f"it cannot be read: {error.strerror or error}")
