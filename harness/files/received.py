"""A name from data becomes a path: only here.

Folders of runs, nights, shards and corpora may be a stranger's. Their data can name
`../../.bashrc`, and a folder in them can be a link to the user's home. So

- a name from data is one component, which matches `COMPONENT` from its first to its last character;
- `root`, which the user has named, may lie behind links; below it every folder is opened relative to
  the one above it, and no link is followed;
- only regular files are read, up to a limit;
- files are created exclusively: what exists is never overwritten.

Every function that takes `names` takes the components of a path below `root`.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from checkers.history import files
from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.printable import quoted, shorten
from harness.core import exhaustion
from harness.core.errors import ConfigurationError
from harness.files.private_folder import PRIVATE

COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
LATEST = "latest"
"""The name of our own links, each to a folder beside it."""
_A_NAME = "a name has 1 to 200 letters, digits, dots, underscores and hyphens, a letter or digit first"
MOST_FILES = 100_000  # of one folder
DEEPEST = 16  # folders within one another, three times as many as a night has
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE = 0o600
_HOLE = bytes(1 << 20)


def component(name: object, source: Path | str) -> str:
    """Return a name from data, read in `source`; ConfigurationError if no file may have it."""
    if isinstance(name, str) and COMPONENT.fullmatch(name):
        return name
    problem = f"{quoted(name)} cannot be the name of a file: {_A_NAME}"
    raise ConfigurationError(f"{shorten(str(source))}: {problem}")


def components(path: str, source: Path | str) -> tuple[str, ...]:
    """Return the names of a relative path from data, such as `runs/t/20261122T…`; ConfigurationError."""
    names = tuple(path.split("/"))
    if all(map(COMPONENT.fullmatch, names)):
        return names
    raise ConfigurationError(
        f"{shorten(str(source))}: {quoted(path)} leads outside of its folder, or cannot be a path: {_A_NAME}"
    )


def exists(root: Path, *names: str) -> bool:
    """Is there anything under that name, even a link that leads nowhere?"""
    return _status(root, names) is not None


def is_folder(root: Path, *names: str) -> bool:
    """Is it a folder, and not a link to one?"""
    found = _status(root, names)
    return found is not None and stat.S_ISDIR(found.st_mode)


def size_of(root: Path, *names: str) -> int:
    """Return the size of a regular file in bytes; 0 if it does not exist or is something else."""
    with suppress(HistoryError):
        found = _status(root, names)
        if found is not None and stat.S_ISREG(found.st_mode):
            return found.st_size
    return 0


def size(root: Path, *names: str, most: int, remedy: str = files.REMEDY) -> int | None:
    """Return a file's size (bytes), if it exists; HistoryError unless it is regular and within `most`."""
    found = _status(root, names)
    if found is None:
        return None
    files.check(found, str(root.joinpath(*names)), most, remedy)
    return found.st_size


def read(root: Path, *names: str, most: int, remedy: str = files.REMEDY, text: bool = False) -> bytes | None:
    """Read a file, if it exists; HistoryError unless it is regular, within `most`, and a whole `text`."""
    if not exists(root, *names):
        return None
    return files.read_bytes(root.joinpath(*names), most, remedy, within=root, text=text)


def read_json(root: Path, *names: str, most: int, remedy: str = files.REMEDY) -> bytes | None:
    """As `read`, for a file that is decoded as a whole.

    Raises HistoryError also if it has too many values: "[]," takes thirty times its size in memory.
    """
    raw = read(root, *names, most=most, remedy=remedy, text=True)
    if raw and sum(map(raw.count, (b",", b"[", b"{"))) > limits.VALUES:
        problem = f"it has more than {limits.VALUES:,} values; {remedy}"
        raise HistoryError(str(root.joinpath(*names)), 0, problem)
    return raw


def listed(root: Path, *names: str) -> list[str]:
    """Return the sorted names in a folder, if it exists; HistoryError if it is none, or has too many."""
    try:
        with files.opened_folder(root, names) as folder, os.scandir(folder) as entries:
            found = sorted(entry.name for entry in itertools.islice(entries, MOST_FILES + 1))
    except (FileNotFoundError, NotADirectoryError):
        return []
    if len(found) > MOST_FILES:
        raise _too_many(root.joinpath(*names))
    return found


def regular_files(root: Path, *names: str, most: int) -> list[tuple[str, ...]]:
    """Return the components of every file in a folder and in the folders below it.

    Raises HistoryError if there is anything but folders, regular files of at most `most` bytes and our
    own links `latest`, which are left out, or folders that are nested too deep; ConfigurationError for a
    name that no run gives to a file.
    """
    found, folders = list[tuple[str, ...]](), [names]
    while folders:
        above = folders.pop()
        for name in listed(root, *above):
            here = (*above, component(name, root.joinpath(*above)))
            if is_folder(root, *here):
                folders.append(here)
                if len(here) > DEEPEST:
                    problem = f"{DEEPEST} folders within one another: it is not from a run"
                    raise HistoryError(str(root.joinpath(*here)), 0, problem)
            elif name != LATEST or not _is_link(root, here):
                size(root, *here, most=most)
                found.append(here)
            if len(found) + len(folders) > MOST_FILES:
                raise _too_many(root.joinpath(*names))
    return found


@contextmanager
def created(root: Path, *names: str) -> Iterator[BinaryIO]:
    """Create a file that does not exist, and the missing folders above it, readable only by this user.

    Raises ConfigurationError if it exists, HistoryError if a link or something else is in the way,
    ResourceExhaustedError if the disk is full.
    """
    *folders, name = names
    for depth in range(1, len(folders) + 1):
        with files.opened_folder(root, folders[: depth - 1]) as above, suppress(FileExistsError):
            os.mkdir(folders[depth - 1], PRIVATE, dir_fd=above)
    with files.opened_folder(root, folders) as folder:
        try:
            descriptor = os.open(name, _NEW, _NEW_MODE, dir_fd=folder)
        except FileExistsError:
            path = root.joinpath(*names)
            raise ConfigurationError(f"{shorten(str(path))} exists and was not overwritten") from None
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 (a descriptor)
            yield file
    except OSError as error:
        if full := exhaustion.as_exhausted(error, root.joinpath(*names)):
            raise full from error
        raise


def copy(root: Path, names: tuple[str, ...], to: Path, *, most: int) -> None:
    """Copy a file to the same names below another folder, where it must not exist.

    Holes stay holes: a stranger's file of gigabytes may have nothing else.

    Raises HistoryError unless it is a regular file of at most `most` bytes, and as `created`.
    """
    with files.opened(root.joinpath(*names), most, within=root) as source, created(to, *names) as copied:
        while piece := source.read(len(_HOLE)):
            if piece == _HOLE:
                copied.seek(_next_data(source))
            else:
                copied.write(piece)
        copied.truncate()


def _next_data(file: BinaryIO) -> int:
    """Go on to the next byte of a file that is not in a hole, or to its end."""
    try:
        return file.seek(file.tell(), os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:  # there is none
            raise
        return file.seek(0, os.SEEK_END)


def remove(root: Path, *names: str) -> bool:
    """Remove a regular file, and return whether it was there; nothing else is ever removed."""
    *folders, name = names
    with suppress(FileNotFoundError, HistoryError), files.opened_folder(root, folders) as folder:
        if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            return True
    return False


def _status(root: Path, names: tuple[str, ...]) -> os.stat_result | None:
    """Raises HistoryError if a folder above it is a link or something else."""
    *folders, name = names
    try:
        with files.opened_folder(root, folders) as folder:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_link(root: Path, names: tuple[str, ...]) -> bool:
    found = _status(root, names)
    return found is not None and stat.S_ISLNK(found.st_mode)


def _too_many(path: Path) -> HistoryError:
    return HistoryError(str(path), 0, f"it has more than {MOST_FILES:,} files; it is not from a run")
