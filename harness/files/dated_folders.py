"""Folders named after the moment they were made, such as runs/<target>/<time>-<id>/; `latest` is a link."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from harness.core.errors import ConfigurationError
from harness.files import received
from harness.files.atomic_files import remove_unfinished
from harness.files.private_folder import PRIVATE, make_missing
from harness.files.received import LATEST

NAMED_BY = "%Y%m%dT%H%M%S"  # UTC; then "-" and an id


def create(parent: Path, *inside: str) -> Path:
    """Make a private folder in `parent`, with some inside, and point `latest` to it. Raises OSError."""
    path = (parent / f"{datetime.now(UTC):{NAMED_BY}}-{secrets.token_hex(3)}").absolute()
    make_missing(path.parent)
    for made in (path, *(path / name for name in inside)):
        made.mkdir(mode=PRIVATE)
    new = path.with_name(f".{path.name}.latest")
    new.symlink_to(path.name)
    new.replace(path.parent / LATEST)
    return path


def create_or_say(parent: Path, *inside: str, refused: str, remedy: str) -> Path:
    """As `create`; ConfigurationError says what was refused, why, and the remedy."""
    try:
        return create(parent, *inside)
    except OSError as error:
        raise ConfigurationError(f"{refused}: {error.strerror}; {remedy}") from None


def latest(parent: Path) -> Path | None:
    """Return the folder that `latest` points to; None if there is no such link.

    Raises ConfigurationError if it is a link to anything but a folder beside it: those of our own
    never are.
    """
    if not received.exists(parent, LATEST):
        return None
    if received.is_folder(parent, LATEST):
        return parent / LATEST
    try:
        name = str((parent / LATEST).readlink())
    except OSError:
        name = ""
    if not (received.COMPONENT.fullmatch(name) and received.is_folder(parent, name)):
        raise ConfigurationError(
            f"{parent / LATEST} is not a link to a folder beside it; name the folder that you mean"
        )
    return parent / name


def newest_first(parent: Path) -> Iterator[Path]:
    """Yield the folders that were made in `parent`."""
    for name in sorted(received.listed(parent), reverse=True):
        if name != LATEST and received.is_folder(parent, name):
            yield parent / name


@contextmanager
def in_use(path: Path, busy: str) -> Iterator[None]:
    """Keep other processes from using a folder until this one ends; ConfigurationError `busy` if one does."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_unfinished(path)
        yield
    except BlockingIOError:
        raise ConfigurationError(busy) from None
    finally:
        os.close(folder)
