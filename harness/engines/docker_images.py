"""The images of a run: ours are built where they are absent, official ones are pulled."""

from __future__ import annotations

import hashlib
import importlib.resources
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from harness.engines.child import Child, Nest
from harness.engines.docker_api import told_plainly
from harness.engines.failure import not_ready

OURS = "fencepost/"
TIMEOUT = 1800.0  # s; Toxiproxy builds in a minute, on a slow line in more
TELL = 10.0  # s between two lines on what goes on
POLL = 0.1  # s


def our_image(system: str) -> str:
    """Return the name of our image; it holds a hash of its folder, so a change makes another image."""
    digest = hashlib.sha256()
    folder = _folder(system)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return f"{OURS}{system}:{digest.hexdigest()[:12]}"


def provide(
    client: docker.DockerClient, images: Iterable[str], nest: Nest, notify: Callable[[str], None]
) -> None:
    """Build or pull those that are not there, all at the same time; ServerNotReadyError if one fails."""
    absent = [image for image in sorted(set(images)) if not _is_there(client, image)]
    at_work = [_build(image, nest) if image.startswith(OURS) else _pull(image, nest) for image in absent]
    for image, child in zip(absent, at_work, strict=True):
        notify(f"{child.name}: {image} is not there yet")
    _wait(at_work, notify)


def _is_there(client: docker.DockerClient, image: str) -> bool:
    with told_plainly():
        try:
            client.images.get(image)
        except ImageNotFound:
            return False
    return True


def _build(image: str, nest: Nest) -> Child:
    system = image.removeprefix(OURS).partition(":")[0]
    command: list[str | Path] = ["docker", "build", "--force-rm", "--tag", image, _folder(system)]
    return nest.spawn(f"build-{system}", command, stop_signal=signal.SIGTERM)


def _pull(image: str, nest: Nest) -> Child:
    name = image.rpartition("/")[2].partition(":")[0]
    return nest.spawn(f"pull-{name}", ["docker", "pull", image], stop_signal=signal.SIGTERM)


def _wait(at_work: Iterable[Child], notify: Callable[[str], None]) -> None:
    started = told = time.monotonic()
    remaining = list(at_work)
    while remaining:
        time.sleep(POLL)
        remaining = [child for child in remaining if not child.has_finished()]
        if time.monotonic() > started + TIMEOUT:
            raise not_ready(remaining[0].name, f"takes longer than {TIMEOUT:.0f} s", remaining[0].read_log())
        if time.monotonic() > told + TELL:
            told = time.monotonic()
            for child in remaining:
                notify(f"{child.name}: {told - started:.0f} s: {_last_line(child.read_log())}")


def _last_line(log: str) -> str:
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")


def _folder(system: str) -> Path:
    return Path(str(importlib.resources.files("compose"))) / "images" / system
