"""Paths as a reader wants them."""

from __future__ import annotations

from pathlib import Path


def as_seen_from_here(path: Path) -> Path:
    """Shorten a path in the current folder to a relative one."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
