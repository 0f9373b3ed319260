"""The images of a run: missing ones are built if they are ours, otherwise pulled."""

from __future__ import annotations

import os
import re
import signal
import textwrap
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import ImageNotFound
from docker.models.images import Image

from harness.core.errors import ServerNotReadyError
from harness.engines.built_images import BASE, folder_of, is_ours, pins, pins_of, release_of
from harness.engines.docker_api import as_infrastructure_errors, connect
from harness.files.logs import not_ready
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.run_notes import temporary_folder
from harness.processes.supervisor import Child, Supervisor

TIMEOUT = 1800.0  # s; Toxiproxy builds in a minute, or longer on a slow network
NOTIFY_EVERY = 10.0  # s between two progress lines
POLL = 0.1  # s
MOST_OF_REASON = 200  # characters
COLORS = re.compile(r"\x1b\[[0-9;]*m")
DAEMON = re.compile(r"^(docker: )?(Error response from daemon|error): ", re.IGNORECASE)


def provide(
    client: docker.DockerClient, images: Iterable[str], supervisor: Supervisor, notify: Callable[[str], None]
) -> None:
    """Build or pull missing images, all at the same time; ServerNotReadyError if one fails."""
    absent = [image for image in sorted(set(images)) if _found(client, image) is None]
    base = base_image(client)
    at_work = [
        _Work(image, _build(image, base, supervisor) if is_ours(image) else _pull(image, supervisor))
        for image in absent
    ]
    for work in at_work:
        notify(f"{work.doing}: not on this machine yet")
    _wait(at_work, notify)


def provide_before_any_run(images: Iterable[str], notify: Callable[[str], None]) -> None:
    """Provide images outside of any run; EngineUnavailableError if Docker does not answer."""
    with closing(connect()) as client, temporary_folder() as folder:
        supervisor = Supervisor(folder / "home", folder / "logs", os.environ)
        try:
            supervisor.make()
            provide(client, images, supervisor, notify)
        finally:
            with deferred_interrupts():
                supervisor.close()


def base_image(client: docker.DockerClient) -> str:
    """Return the base of our images: the pinned image by its digest.

    An image that was imported by hand, because no registry is reachable, has no registry digest:
    it is used by its tag.
    """
    pinned = pins()[BASE]
    tag = pinned.partition("@")[0]
    local = _found(client, tag)
    return tag if local is not None and not local.attrs["RepoDigests"] else pinned


@dataclass(frozen=True, slots=True)
class _Work:
    image: str
    child: Child

    @property
    def doing(self) -> str:
        return f"{'building' if is_ours(self.image) else 'pulling'} {self.image}"

    def is_done(self) -> bool:
        """Does the image exist now? ServerNotReadyError if building or pulling failed."""
        try:
            return self.child.has_finished()
        except ServerNotReadyError:
            if is_ours(self.image):
                raise
            said = DAEMON.sub("", _last_line(self.child.read_log()))
            reason = textwrap.shorten(said, MOST_OF_REASON, placeholder=" …")
            raise ServerNotReadyError(
                f"the image {self.image} is not on this machine and could not be pulled: {reason}"
            ) from None


def _found(client: docker.DockerClient, image: str) -> Image | None:
    with as_infrastructure_errors():
        try:
            return client.images.get(image)
        except ImageNotFound:
            return None


def _build(image: str, base: str, supervisor: Supervisor) -> Child:
    folder = folder_of(image)
    arguments = {name: base if name == BASE else version for name, version in pins_of(folder).items()}
    name = f"build-{folder.name}"
    if release := release_of(image):
        arguments["RELEASE"] = release
        name += f"-{release}"
    options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    command: list[str | Path] = ["docker", "build", "--force-rm", *options, "--tag", image, folder]
    return supervisor.spawn(name, command, stop_signal=signal.SIGTERM)


def _pull(image: str, supervisor: Supervisor) -> Child:
    name = image.rpartition("/")[2].partition(":")[0]
    return supervisor.spawn(f"pull-{name}", ["docker", "pull", image], stop_signal=signal.SIGTERM)


def _wait(at_work: Iterable[_Work], notify: Callable[[str], None]) -> None:
    started = notified = time.monotonic()
    remaining = list(at_work)
    while remaining:
        time.sleep(POLL)
        remaining = [work for work in remaining if not work.is_done()]
        if time.monotonic() > started + TIMEOUT:
            slow = remaining[0]
            raise not_ready(slow.doing, f"takes longer than {TIMEOUT:.0f} s", slow.child.read_log())
        if time.monotonic() > notified + NOTIFY_EVERY:
            notified = time.monotonic()
            for work in remaining:
                notify(f"{work.doing}: {notified - started:.0f} s: {_last_line(work.child.read_log())}")


def _last_line(log: str) -> str:
    lines = reversed(COLORS.sub("", log).splitlines())
    return next((line.strip() for line in lines if line.strip()), "")
