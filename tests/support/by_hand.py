"""A server in a container, started by hand as a user's that already runs."""

from __future__ import annotations

import io
import secrets
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from harness.engines.built_images import our_image
from harness.engines.docker_api import connect
from harness.engines.docker_images import provide_before_any_run
from tests.support.waiting import wait_for


@dataclass(frozen=True, slots=True)
class Running:
    """One container."""

    container: Any

    @property
    def name(self) -> str:
        return str(self.container.name)

    def address(self, port: int) -> str:
        """Where a port is published; Docker knows it once the container has started."""

        def published() -> Any:
            self.container.reload()
            return self.container.ports.get(f"{port}/tcp")

        return f"127.0.0.1:{wait_for(published)[0]['HostPort']}"

    def says(self, *command: str) -> str:
        """The output of a command in the container, which must succeed."""
        code, output = self.container.exec_run(command)
        assert code == 0, output.decode()
        return str(output.decode())

    def succeeds(self, *command: str) -> bool:
        return bool(self.container.exec_run(command)[0] == 0)


@contextmanager
def running(
    system: str,
    *ports: int,
    files: Mapping[str, bytes] | None = None,
    command: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Start our image of a system; `files` are in its folder /tls, and only its user may read them."""
    image = our_image(system)
    published: dict[str, Any] = {f"{port}/tcp": ("127.0.0.1", None) for port in ports}
    provide_before_any_run([image], print)
    with closing(connect()) as client:
        container = client.containers.create(
            image,
            command,
            name=f"by-hand-{secrets.token_hex(4)}",
            ports=published,
            environment=dict(environment or {}),
        )
        try:
            if files:
                owner = int(client.containers.run(image, ["id", "-u"], remove=True))
                container.put_archive("/", _archive(files, owner))
            container.start()
            yield Running(container)
        finally:
            container.remove(force=True, v=True)


def _archive(files: Mapping[str, bytes], owner: int) -> bytes:
    """A tar archive of the folder `tls`, which only one user may read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"tls/{name}")
            member.size, member.uid, member.mode, member.mtime = len(content), owner, 0o600, int(time.time())
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()
