"""The images that Fencepost builds: a folder of `compose/images` each, known by its content and its pins."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.engines.pins import images, pins_of

OURS = "fencepost/"


def is_ours(image: str) -> bool:
    """Is it built here, and not pulled from anywhere?"""
    return image.startswith(OURS)


def our_image(folder: str) -> str:
    """Return the name of our image, with a hash of its folder and pins: a change makes another image."""
    digest = hashlib.sha256()
    path = folder_of(folder)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path)}\0{len(content)}\0".encode() + content)
    digest.update(repr(sorted(pins_of(path).items())).encode())
    return f"{OURS}{folder}:{digest.hexdigest()[:12]}"


def image_of(system: str, chosen: str | None) -> str:
    """Return the image to run: the chosen one; without a tag, one of ours as its folder is now."""
    if chosen is None:
        return our_image(system)
    folder = chosen.removeprefix(OURS)
    return our_image(folder) if is_ours(chosen) and ":" not in folder else chosen


def folder_of(image: str) -> Path:
    """Return the folder with the Dockerfile of one of ours, whatever its tag."""
    return images() / image.removeprefix(OURS).partition(":")[0]


def our_images() -> list[str]:
    """Return the names of all of ours, without their tags."""
    return sorted(f"{OURS}{folder.name}" for folder in images().iterdir() if folder.is_dir())
