"""The images that Fencepost builds: one per folder of `compose/images`, tagged by its content and pins.

A folder `<system>-release` builds any release of a system: its images are also tagged by the release. All
versions are pinned in `compose/images/Dockerfile.pins`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import re
from pathlib import Path

BASE = "BASE"  # the base image of all our images, with its digest
_FROM = re.compile(r"^FROM (\S+)$", re.MULTILINE)
_ARG = re.compile(r"^ARG (\w+)=(\S+)$", re.MULTILINE)
OURS = "fencepost/"
_ANY_RELEASE = "-release"


def is_ours(image: str) -> bool:
    """Does Fencepost build this image, rather than pull it?"""
    return image.startswith(OURS)


def our_image(folder: str, release: str = "") -> str:
    """Return the name of our image, with a hash of its folder and pins: any change gives another image."""
    digest = hashlib.sha256()
    path = folder_of(folder)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path)}\0{len(content)}\0".encode() + content)
    digest.update(repr(sorted(pins_of(path).items())).encode())
    return f"{OURS}{folder}:{f'{release}-' if release else ''}{digest.hexdigest()[:12]}"


def image_of(system: str, chosen: str | None, release: str = "") -> str:
    """Return the image to run: the chosen one, or ours for the system; our images get their current tag."""
    if release:
        return our_image(f"{system}{_ANY_RELEASE}", release)
    if chosen is None:
        return our_image(system)
    folder = chosen.removeprefix(OURS)
    return our_image(folder) if is_ours(chosen) and ":" not in folder else chosen


def folder_of(image: str) -> Path:
    """Return the folder with the Dockerfile of one of our images, with any tag."""
    return images() / image.removeprefix(OURS).partition(":")[0]


def release_of(image: str) -> str:
    """Return the release of a system that one of our images, with its tag, has; "" if its pins say it."""
    return image.rpartition(":")[2].rpartition("-")[0]


def our_images() -> list[str]:
    """Return the names of all our images, without tags, but those of any release."""
    names = (folder.name for folder in images().iterdir() if folder.is_dir())
    return sorted(f"{OURS}{name}" for name in names if not name.endswith(_ANY_RELEASE))


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
