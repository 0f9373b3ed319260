"""Files from untrusted sources: only regular ones are read, and only up to a limit.

A pipe might never send anything, a device might never end, and opening either can have side effects. So a
file is checked before it is opened, and again once it is open: if it was replaced in between, it is not read.

A file named by the user may lie behind links. A file in a folder that somebody else may have
filled may not: each folder on its path is opened relative to its parent, and no link is followed.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.limits import described

_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OUR_OWN = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # not caused by the file
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_PIECE = 1 << 24  # bytes
GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
REMEDY = "it is too large for such a file; check it, and name another"


@contextmanager
def opened(
    path: Path, most: int, remedy: str = REMEDY, within: Path | None = None
) -> Iterator[io.BufferedReader]:
    """Open a file to read it; an OSError while reading becomes an error of that file.

    `within`: the folder above it whose content is not trusted; no link in it is followed.

    Raises:
        HistoryError: it does not exist, is not a regular file of at most `most` bytes, or cannot be read.
    """
    try:
        descriptor = _descriptor(path, most, remedy, within)
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor)
            found = os.fstat(file.fileno())
            check(found, str(path), most, remedy)
            if not found.st_size and file.peek(1):
                raise HistoryError(str(path), 0, "the system generates its content; name a file on a disk")
            yield file
    except OSError as error:
        if error.filename is not None:  # the error is about another file
            raise
        raise _unreadable(path, error) from None


def _descriptor(path: Path, most: int, remedy: str, within: Path | None) -> int:
    if within is None:
        check(path.stat(), str(path), most, remedy)
        return os.open(path, _READING)
    *folders, name = path.relative_to(within).parts
    with opened_folder(within, folders) as folder:
        check(os.stat(name, dir_fd=folder, follow_symlinks=False), str(path), most, remedy)
        return os.open(name, _READING | os.O_NOFOLLOW, dir_fd=folder)


@contextmanager
def opened_folder(root: Path, names: Sequence[str] = ()) -> Iterator[int]:
    """Open a folder below `root` and yield its descriptor; only `root` may lie behind links.

    Raises:
        HistoryError: a folder is a link or not a folder, is not below its parent, or cannot be opened.
        FileNotFoundError, NotADirectoryError: a folder does not exist.
    """
    folder = _opened_folder(root, root)
    try:
        for depth, name in enumerate(names, start=1):
            kind = stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
            if kind != stat.S_IFDIR or name == os.pardir:
                what = "a way out of the folder" if name == os.pardir else _KINDS.get(kind, "something else")
                here = root.joinpath(*names[:depth])
                raise HistoryError(str(here), 0, f"this is {what}, and a folder is expected here")
            inner = _opened_folder(name, root, *names[:depth], above=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _opened_folder(name: str | Path, root: Path, *names: str, above: int | None = None) -> int:
    """Open a folder; only the root may be a link."""
    try:
        return os.open(name, _FOLDER if above is None else _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _unreadable(root.joinpath(*names), error) from None


def check(found: os.stat_result, name: str, most: int, remedy: str = REMEDY) -> None:
    """Raise HistoryError unless it is a regular file of at most `most` bytes."""
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        remedy = "put the file itself there" if kind == stat.S_IFLNK else "name one"
        raise HistoryError(name, 0, f"this is {what}, and only regular files are read; {remedy}")
    if found.st_size > most:
        raise _too_large(name, most, remedy)


def read_bytes(
    path: Path, most: int, remedy: str = REMEDY, within: Path | None = None, *, text: bool = False
) -> bytes:
    """Read a whole file as `opened` and `read_stream` do, with their errors and `text`."""
    with opened(path, most, remedy, within) as file:
        return read_stream(file, str(path), most, remedy, text=text)


def read_stream(file: io.BufferedReader, name: str, most: int, remedy: str = REMEDY, *, text: bool) -> bytes:
    """Read an open file to its end; a long `text` only to a null byte, as it may have gigabytes of holes.

    Raises:
        HistoryError: it has more than `most` bytes, or is a long uncompressed text with a null byte.
    """
    until = b"\0" if text and not file.peek(len(GZIP)).startswith(GZIP) else None
    content = _read_up_to(file, most + 1, until)
    if until and len(content) <= most and file.peek(1):
        line = content.count(b"\n", 0, content.find(until)) + 1
        raise HistoryError(name, line, "this is not a text: it has a null byte; name another file")
    if len(content) > most:  # it has grown, or does not report its size
        raise _too_large(name, most, remedy)
    return content


def decompressed(content: bytes, name: str, most: int) -> bytes:
    """Return the content of a gzip file.

    Raises:
        HistoryError: it is damaged, or expands to more than `most` bytes or beyond the limit on expansion.
    """
    most = min(most, max(limits.EXPANDED, limits.EXPANSION * len(content)))
    try:
        expanded = _read_up_to(gzip.GzipFile(fileobj=io.BytesIO(content)), most + 1, until=b"\0")
    except (OSError, EOFError, zlib.error) as error:
        raise HistoryError(name, 0, f"it cannot be decompressed: {error}; check it with gunzip -t") from None
    if len(expanded) > most:
        problem = f"it expands to more than {described(most)}; if that is right, decompress it yourself"
        raise HistoryError(name, 0, problem)
    return expanded


def _read_up_to(file: BinaryIO | gzip.GzipFile, most: int, until: bytes | None) -> bytes:
    """Read as `read(most)`, but in pieces, to allocate less memory; stop after a piece that has `until`."""
    content = io.BytesIO()  # it grows in place, and returns its content without a copy
    while most > 0 and (piece := file.read(min(most, _PIECE))):
        content.write(piece)
        most = 0 if until and until in piece else most - len(piece)
    return content.getvalue()


def _too_large(name: str, most: int, remedy: str) -> HistoryError:
    return HistoryError(name, 0, f"it has more than {described(most)}; {remedy}")


def _unreadable(path: Path, error: OSError) -> Exception:
    if error.errno in _OUR_OWN:
        return error
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HistoryError(str(path), 0, "there is no such file")
    return HistoryError(str(path), 0, f"it cannot be read: {error.strerror or error}")
