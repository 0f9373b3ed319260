"""Files that are written as a whole: a reader never sees half of one, and a refusal leaves none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from harness.errors import ConfigurationError


def replace_file(path: Path, chunks: Iterable[str]) -> None:
    """Put a text in place of a file, once all of it is written beside; else what stood there stays."""
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_output(path: Path, chunks: Iterable[str], *, force: bool) -> None:
    """Write what the user asked for to where the user said; a device or a pipe is written to directly.

    Raises ConfigurationError where a file stands already, unless it is to be replaced by `force`.
    """
    if os.path.lexists(path) and not force and not _is_stream(path):
        raise ConfigurationError(f"{path} exists, and is not overwritten; name another file, or add --force")
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file in it")
    try:
        if _is_stream(path):
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(chunks)
        else:
            replace_file(path.resolve(), chunks)
    except PermissionError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
