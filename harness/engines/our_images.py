"""The images that Fencepost builds: a folder of `compose/images` each, known by its content."""

from __future__ import annotations

import hashlib
import importlib.resources
from pathlib import Path

OURS = "fencepost/"


def is_ours(image: str) -> bool:
    """Is it built here, and not pulled from anywhere?"""
    return image.startswith(OURS)


def our_image(folder: str) -> str:
    """Return the name of our image; it holds a hash of its folder, so a change makes another image."""
    digest = hashlib.sha256()
    path = folder_of(folder)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path)}\0{len(content)}\0".encode() + content)
    return f"{OURS}{folder}:{digest.hexdigest()[:12]}"


def image_of(system: str, chosen: str | None) -> str:
    """Return the image to run: the chosen one; without a tag, one of ours as its folder is now."""
    if chosen is None:
        return our_image(system)
    folder = chosen.removeprefix(OURS)
    return our_image(folder) if is_ours(chosen) and ":" not in folder else chosen


def folder_of(image: str) -> Path:
    """Return the folder with the Dockerfile of one of ours, whatever its tag."""
    return _images() / image.removeprefix(OURS).partition(":")[0]


def our_images() -> list[str]:
    """Return the names of all of ours, without their tags."""
    return sorted(f"{OURS}{folder.name}" for folder in _images().iterdir() if folder.is_dir())


def _images() -> Path:
    return Path(str(importlib.resources.files("compose"))) / "images"
