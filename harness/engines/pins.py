"""The pinned versions of our images, all in `compose/images/Dockerfile.pins`."""

from __future__ import annotations

import functools
import importlib.resources
import re
from pathlib import Path

BASE = "BASE"  # the base image of all our images, with its digest
_FROM = re.compile(r"^FROM (\S+)$", re.MULTILINE)
_ARG = re.compile(r"^ARG (\w+)=(\S+)$", re.MULTILINE)


def images() -> Path:
    """Return the folder that contains the pins and a folder for each of our images."""
    return Path(str(importlib.resources.files("compose"))) / "images"


@functools.cache
def pins() -> dict[str, str]:
    """Return the pinned versions by the name of their build argument."""
    text = (images() / "Dockerfile.pins").read_text(encoding="utf-8")
    return {BASE: _FROM.findall(text)[0], **dict(_ARG.findall(text))}


def pins_of(folder: Path) -> dict[str, str]:
    """Return the pins that the Dockerfile in this folder declares as ARG."""
    declared = dict(_ARG.findall((folder / "Dockerfile").read_text(encoding="utf-8")))
    return {name: value for name, value in pins().items() if name in declared}
