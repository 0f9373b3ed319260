"""Paths given by users, and paths shown to them."""

from __future__ import annotations

import os
from pathlib import Path

from checkers.text.printable import shorten
from harness.core.errors import ConfigurationError


def path_of(word: str) -> Path:
    """Return the path that a word names, whether or not it exists.

    Raises ConfigurationError if the path, or where its links lead, is impossible or not accessible: a name
    that is too long, a null character, a circle of links, a folder without permission.
    """
    try:
        Path(word).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise ConfigurationError(f"{shorten(word)}: {error.strerror}") from None
    except ValueError as error:  # a null character, or an unpaired surrogate
        raise ConfigurationError(f"{shorten(word)}: not a valid file name: {error}") from None
    return Path(word)


def is_file(word: str | Path) -> bool:
    """Is there a regular file? Not at an impossible path, for which `Path.is_file` raises OSError."""
    return os.path.isfile(word)  # noqa: PTH113 (as said)


def can_be_entered(word: str) -> bool:
    """Is there a folder that this process may change into? Not at an impossible path, as in `is_file`."""
    return os.path.isdir(os.path.join(word, ""))  # noqa: PTH112, PTH118 (as said)


def as_seen_from_here(path: Path) -> Path:
    """Shorten a path in the current folder to a relative one."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def shipped_files(folder: str) -> Path:
    """Return a folder of shipped files, such as "targets": in the package, or in a checkout beside it."""
    package = Path(__file__).parents[1]
    installed = package / "shipped" / folder
    return installed if installed.is_dir() else package.parent / folder
