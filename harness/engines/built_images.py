"""The images that Fencepost builds: one per folder of `compose/images`, tagged by its content and pins."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.engines.pins import images, pins_of

OURS = "fencepost/"


def is_ours(image: str) -> bool:
    """Does Fencepost build this image, rather than pull it?"""
    return image.startswith(OURS)


def our_image(folder: str) -> str:
    """Return the name of our image, with a hash of its folder and pins: any change gives another image."""
    digest = hashlib.sha256()
    path = folder_of(folder)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path)}\0{len(content)}\0".encode() + content)
    digest.update(repr(sorted(pins_of(path).items())).encode())
    return f"{OURS}{folder}:{digest.hexdigest()[:12]}"


def image_of(system: str, chosen: str | None) -> str:
    """Return the image to run: the chosen one, or ours for the system; our images get their current tag."""
    if chosen is None:
        return our_image(system)
    folder = chosen.removeprefix(OURS)
    return our_image(folder) if is_ours(chosen) and ":" not in folder else chosen


def folder_of(image: str) -> Path:
    """Return the folder with the Dockerfile of one of our images, with any tag."""
    return images() / image.removeprefix(OURS).partition(":")[0]


def our_images() -> list[str]:
    """Return the names of all our images, without tags."""
    return sorted(f"{OURS}{folder.name}" for folder in images().iterdir() if folder.is_dir())
