"""The containers of one run: where they listen, what they log, and whether they live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import docker

from harness.core.errors import InfrastructureError, ServerNotReadyError
from harness.engines.docker_api import told_plainly
from harness.files.log_limit import shortened
from harness.network.topology import Address
from harness.processes import ownership
from harness.processes.server_failure import not_ready

END_TIMEOUT = 10  # s
SERVICE = "com.docker.compose.service"


@dataclass(frozen=True, slots=True)
class Container:
    """One server's container."""

    name: str  # of the server
    id: str
    ports: tuple[dict[str, Any], ...]
    client: docker.DockerClient

    def published(self, port: int) -> Address:
        """Return where a port of it is published on this machine; ServerNotReadyError if it is not."""
        for each in self.ports:
            if each["PrivatePort"] == port and "PublicPort" in each:
                return Address(each["IP"], each["PublicPort"])
        self.check()
        raise not_ready(self.name, f"does not publish its port {port}", self.log())

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last words, if it has ended or is unhealthy."""
        try:
            with told_plainly():
                state = self.client.api.inspect_container(self.id)["State"]
        except InfrastructureError as error:
            if isinstance(error.__cause__, docker.errors.NotFound):
                raise gone(self.name) from None
            raise
        if not state["Running"]:
            raise not_ready(self.name, f"ended with status {state['ExitCode']}", self.log())
        if state.get("Health", {}).get("Status") == "unhealthy":
            raise not_ready(self.name, "is unhealthy", self.log())

    def freeze(self) -> None:
        """Stop all its processes with the kernel's freezer, not PID 1 alone."""
        with told_plainly():
            self.client.api.pause(self.id)
        self._expect("paused")

    def thaw(self) -> None:
        """Let them go on."""
        with told_plainly():
            self.client.api.unpause(self.id)
        self._expect("running")

    def kill(self) -> None:
        """End it with SIGKILL; what it had written stays in the page cache, so this is no power loss."""
        with told_plainly():
            self.client.api.kill(self.id)
            self.client.api.wait(self.id, timeout=END_TIMEOUT)
        self._expect("exited")

    def start_again(self) -> None:
        """Start it after it ended. Docker publishes its ports anew: list the containers again."""
        with told_plainly():
            self.client.api.start(self.id)
        self._expect("running")

    def run(self, command: list[str]) -> None:
        """Run a command in it; InfrastructureError if that fails."""
        with told_plainly():
            execution: str = self.client.api.exec_create(self.id, command)["Id"]
            said: bytes = self.client.api.exec_start(execution)
            code = self.client.api.exec_inspect(execution)["ExitCode"]
        if code:
            output = said.decode("utf-8", errors="replace").strip()
            raise InfrastructureError(f"{self.name}: {command[0]} ended with status {code}: {output}")

    def image(self) -> dict[str, Any]:
        """Return its image's name, id, and digests in the registries that it came from, if any."""
        with told_plainly():
            name = self.client.api.inspect_container(self.id)["Config"]["Image"]
            image = self.client.images.get(name)
        return {"name": name, "id": image.id, "digests": image.attrs["RepoDigests"] or []}

    def _expect(self, status: str) -> None:
        with told_plainly():
            seen = self.client.api.inspect_container(self.id)["State"]["Status"]
        if seen != status:
            raise InfrastructureError(f"{self.name} was to be {status}, and is {seen}")

    def log(self) -> str:
        """Return what it wrote, as far as Docker has kept it (see docker_compose)."""
        with told_plainly():
            written: bytes = self.client.api.logs(self.id, stdout=True, stderr=True)
        return shortened(written).decode("utf-8", errors="replace")


def gone(server: str) -> ServerNotReadyError:
    """Make the error for a container that is not there any more."""
    return ServerNotReadyError(f"{server} is gone: somebody has removed its container while the run went on")


def containers_of(client: docker.DockerClient, run_id: str) -> dict[str, Container]:
    """List the containers of a run, the stopped ones too, by the name of their server."""
    with told_plainly():
        found = client.api.containers(all=True, filters={"label": f"{ownership.RUN}={run_id}"})
    return {
        each["Labels"][SERVICE]: Container(each["Labels"][SERVICE], each["Id"], tuple(each["Ports"]), client)
        for each in found
    }
