"""The files that ship with Fencepost: in the installed package, or in a checkout beside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def shipped_files(folder: str) -> Path:
    """Return a folder of them, such as "targets"."""
    installed = _PACKAGE / "shipped" / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder
