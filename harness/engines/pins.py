"""The versions that our images are built from: `compose/images/Dockerfile.pins` has them all."""

from __future__ import annotations

import functools
import importlib.resources
import re
from pathlib import Path

BASE = "BASE"  # the image that all of ours are built on, with its digest
_FROM = re.compile(r"^FROM (\S+)$", re.MULTILINE)
_ARG = re.compile(r"^ARG (\w+)=(\S+)$", re.MULTILINE)


def images() -> Path:
    """Return the folder with the pins, and a folder for each of our images."""
    return Path(str(importlib.resources.files("compose"))) / "images"


@functools.cache
def pins() -> dict[str, str]:
    """Return each pinned version by the name of its build argument."""
    text = (images() / "Dockerfile.pins").read_text(encoding="utf-8")
    return {BASE: _FROM.findall(text)[0], **dict(_ARG.findall(text))}


def pins_of(folder: Path) -> dict[str, str]:
    """Return those of the pins that the Dockerfile in this folder declares as ARG."""
    declared = dict(_ARG.findall((folder / "Dockerfile").read_text(encoding="utf-8")))
    return {name: value for name, value in pins().items() if name in declared}
