"""Paths as a reader wants them."""

from __future__ import annotations

import os
from pathlib import Path

from checkers.printable import shorten
from harness.core.errors import ConfigurationError


def path_of(word: str) -> Path:
    """The path that a word names, whether or not something is there.

    Raises ConfigurationError where nothing can be there, or nobody may look: too long a name, a null
    character, a folder that is closed to us.
    """
    try:
        os.lstat(word)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise ConfigurationError(f"{shorten(word)}: {error.strerror}") from None
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise ConfigurationError(f"{shorten(word)}: names no file: {error}") from None
    return Path(word)


def as_seen_from_here(path: Path) -> Path:
    """Shorten a path in the current folder to a relative one."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
