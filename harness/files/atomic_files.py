"""Atomic writes: old or new, never partial.

The content goes into a new file with an unguessable name, which follows no link and is readable
only by this user, and a rename puts it in place. So a planted link is replaced,
and its target is not touched.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.core import exhaustion
from harness.core.errors import ConfigurationError

PRIVATE = 0o600
ABANDONED = 600.0  # s; no write takes that long
USER_MODE = 0o666  # less the umask
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED = (".fencepost-", ".new")


@contextmanager
def replacement(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` after the block; ResourceExhaustedError if the disk is full."""
    new = path.with_name(secrets.token_hex(8).join(_UNFINISHED))
    try:
        with open(os.open(new, _NEW, mode), "wb") as file:  # noqa: PTH123 (a descriptor)
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        if full := exhaustion.as_exhausted(error, path):
            raise full from error
        raise
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def replace_file(path: Path, chunks: Iterable[str], mode: int = PRIVATE) -> None:
    """Replace a file with a text once it is completely written; otherwise the old file stays."""
    with replacement(path, mode) as file:
        file.writelines(chunk.encode() for chunk in chunks)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files that killed processes left in a folder some time ago."""
    first, last = _UNFINISHED
    for left in folder.glob(f"{first}*{last}"):
        with contextlib.suppress(OSError):
            if left.lstat().st_mtime < time.time() - ABANDONED:
                left.unlink()


def write_output(path: Path, chunks: Iterable[str], *, force: bool) -> None:
    """Write a requested file, or a device or pipe directly; ConfigurationError as `check_output`."""
    check_output(path, force=force)
    try:
        if _is_stream(path):
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(chunks)
        else:
            replace_file(path.resolve(), chunks, USER_MODE)
    except PermissionError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def check_output(path: Path, *, force: bool) -> None:
    """Check a requested file before any work; ConfigurationError if it exists, unless `force`, or cannot."""
    if os.path.lexists(path) and not force and not _is_stream(path):
        raise ConfigurationError(f"{path} exists and was not overwritten; name another file, or add --force")
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file in it")


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
