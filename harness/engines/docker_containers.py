"""The containers of one run: their ports, logs and states."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import docker

from harness.core.errors import InfrastructureError, ServerNotReadyError
from harness.core.fields import shown_size
from harness.engines.docker_api import as_infrastructure_errors
from harness.engines.docker_compose import SIDECARS
from harness.files.logs import not_ready, shortened
from harness.network.topology import Address
from harness.processes import ownership
from harness.processes.duty_cycle import PERIOD, Throttled

END_TIMEOUT = 10  # s
KILLED = 137  # the status of a container whose process got SIGKILL
REASON_TIMEOUT = 5.0  # s; on a busy machine, Docker learns why only after it has seen the end
SETTLING = 5.0  # s; of a status after a request
POLL = 0.05  # s
FREEZE_TIMEOUT = 30.0  # s
UNFROZEN = "unable to freeze"  # in the error of a pause that may be tried again
CPU_PERIOD = round(PERIOD * 1e6)  # us
NO_LIMIT = -1
DEFAULT_RETRIES = 3  # Docker's own: checks that fail in a row
SERVICE = "com.docker.compose.service"


@dataclass(frozen=True, slots=True)
class Container:
    """One server's container."""

    name: str  # of the server
    id: str
    ports: tuple[dict[str, Any], ...]
    client: docker.DockerClient

    def published(self, port: int) -> Address:
        """Return where one of its ports is published on this machine; ServerNotReadyError if it is not."""
        for each in self.ports:
            if each["PrivatePort"] == port and "PublicPort" in each:
                return Address(each["IP"], each["PublicPort"])
        self.check()
        raise self.failed(f"does not publish its port {port}")

    def publishes(self, port: int) -> bool:
        """Is one of its ports published on this machine?"""
        return any(each["PrivatePort"] == port and "PublicPort" in each for each in self.ports)

    def failed(self, seen: str) -> ServerNotReadyError:
        """Return the error of what was seen, with its last log lines."""
        return not_ready(self.name, seen, self.log())

    def address_in(self, network: str) -> str:
        """Return its address in one of its networks."""
        return str(self._inspected()["NetworkSettings"]["Networks"][network]["IPAddress"])

    def address(self) -> str:
        """Return its address in the first of its networks."""
        networks = self._inspected()["NetworkSettings"]["Networks"]
        return str(next(iter(networks.values()))["IPAddress"])

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last log lines, if it has ended or is unhealthy."""
        seen = self._inspected()
        deadline = time.monotonic() + REASON_TIMEOUT
        while _was_killed(seen) and not seen["State"]["OOMKilled"] and time.monotonic() < deadline:
            time.sleep(POLL)
            seen = self._inspected()
        self._expect_enough_memory(seen)
        if _was_killed(seen):
            by = f"perhaps by you, or by the kernel because {self._memory(seen)}"
            raise self.failed(f"was killed (status {KILLED}). Docker does not say by whom: {by}")
        if not seen["State"]["Running"]:
            raise self.failed(f"ended with status {seen['State']['ExitCode']}")
        health = seen["State"].get("Health", {})
        retries = seen["Config"].get("Healthcheck", {}).get("Retries") or DEFAULT_RETRIES
        # Docker also calls a paused container unhealthy, and then until a check succeeds.
        if health.get("Status") == "unhealthy" and health.get("FailingStreak", 0) >= retries:
            raise self.failed("is unhealthy")

    def _inspected(self) -> Mapping[str, Any]:
        try:
            with as_infrastructure_errors():
                seen: Mapping[str, Any] = self.client.api.inspect_container(self.id)
        except InfrastructureError as error:
            if isinstance(error.__cause__, docker.errors.NotFound):
                raise gone(self.name) from None
            raise
        return seen

    def _expect_enough_memory(self, seen: Mapping[str, Any]) -> None:
        """Raise ServerNotReadyError if the kernel has killed one of its processes because of its limit."""
        if seen["State"]["OOMKilled"]:
            raise self.failed(f"was killed by the kernel because {self._memory(seen)}")

    def _memory(self, seen: Mapping[str, Any]) -> str:
        """Say that it used more than its limit, with the remedy."""
        limit = shown_size(seen["HostConfig"]["Memory"])
        remedy = "" if self.name in SIDECARS else ' (raise it with memory = "…" in its section of the target)'
        return f"it used more than its memory limit of {limit}{remedy}"

    def freeze(self) -> None:
        """Stop all its processes, not only PID 1, with the kernel's freezer.

        On a busy machine, runc gives up before the kernel has stopped them all, and lets them run again.
        """
        deadline = time.monotonic() + FREEZE_TIMEOUT
        with as_infrastructure_errors():
            while True:
                try:
                    self.client.api.pause(self.id)
                    break
                except docker.errors.APIError as error:
                    if UNFROZEN not in str(error) or time.monotonic() > deadline:
                        self.check()  # says more about one that has ended
                        raise
        self._expect("paused")

    def thaw(self) -> None:
        """Continue its processes; one that is not frozen stays as it is."""
        self._unpause()
        self._expect("running")

    def _unpause(self) -> None:
        if self._status() == "paused":
            with as_infrastructure_errors():
                self.client.api.unpause(self.id)

    def limit_cpu(self, share: float | None) -> None:
        """Limit it to a share of one CPU; None: no limit."""
        quota = NO_LIMIT if share is None else round(share * CPU_PERIOD)
        with as_infrastructure_errors():
            self.client.api.update_container(self.id, cpu_period=CPU_PERIOD, cpu_quota=quota)
        seen = self._inspected()["HostConfig"]["CpuQuota"]
        if seen != quota:
            raise InfrastructureError(f"{self.name} should have the CPU quota {quota}, but has {seen}")

    def throttled(self) -> Throttled:
        """Return how often the kernel has held it up, and the CPU time that it used, since its start."""
        with as_infrastructure_errors():
            seen = self.client.api.stats(self.id, stream=False, one_shot=True)["cpu_stats"]
        return Throttled(seen["throttling_data"]["throttled_periods"], seen["cpu_usage"]["total_usage"] / 1e9)

    def kill(self, signal: str) -> None:
        """End it with a signal; written data stays in the page cache, so SIGKILL is not a power loss.

        A frozen one continues just before: Docker's kill of a frozen container may hang for ever.
        """
        self._unpause()
        try:
            with as_infrastructure_errors():
                self.client.api.kill(self.id, signal)
                self.client.api.wait(self.id, timeout=END_TIMEOUT)
        except InfrastructureError:
            self.check()  # says more about one that has ended
            raise
        self._expect("exited")

    def restart(self) -> None:
        """Restart it. Docker then publishes other ports: list the containers again."""
        with as_infrastructure_errors():
            self.client.api.start(self.id)
        self._expect("running")

    def run(self, command: list[str]) -> str:
        """Run a command in it, and return what it prints; InfrastructureError if it fails."""
        with as_infrastructure_errors():
            execution: str = self.client.api.exec_create(self.id, command)["Id"]
            said: bytes = self.client.api.exec_start(execution)
            code = self.client.api.exec_inspect(execution)["ExitCode"]
        output = said.decode("utf-8", errors="replace").strip()
        if code:
            raise InfrastructureError(f"{self.name}: {command[0]} ended with status {code}: {output}")
        return output

    def beside(self, image: str, command: list[str]) -> str:
        """Run a command of an image in its network, and return what it prints; InfrastructureError."""
        known = self._inspected()["Config"]["Labels"]
        labels = {name: known[name] for name in (ownership.RUN, ownership.HARNESS)}
        with as_infrastructure_errors():
            said: bytes = self.client.containers.run(
                image,
                command,
                remove=True,
                network_mode=f"container:{self.id}",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges:true"],
                labels={**labels, SERVICE: f"{self.name}-tool"},
            )
        return said.decode("utf-8", errors="replace").strip()

    def image(self) -> dict[str, Any]:
        """Return its image's name, id, and digests in registries, if any."""
        name = self._inspected()["Config"]["Image"]
        with as_infrastructure_errors():
            image = self.client.images.get(name)
        return {"name": name, "id": image.id, "digests": image.attrs["RepoDigests"] or []}

    def _status(self) -> str:
        seen = self._inspected()
        self._expect_enough_memory(seen)
        return str(seen["State"]["Status"])

    def _expect(self, status: str) -> None:
        """Wait until Docker shows a status; InfrastructureError if it does not.

        Docker may see what its runtime did only after its answer, and shows the status before for that long.
        """
        deadline = time.monotonic() + SETTLING
        while (seen := self._status()) != status:
            if time.monotonic() > deadline:
                self.check()  # says more about one that has ended
                raise InfrastructureError(f"{self.name} should be {status}, but is {seen}")
            time.sleep(POLL)

    def log(self) -> str:
        """Return its log, as far as Docker has kept it (see docker_compose); or why it cannot be read.

        A container in which Docker is stuck hides neither the logs of the others nor the first error.
        """
        try:
            with as_infrastructure_errors():
                written: bytes = self.client.api.logs(self.id, stdout=True, stderr=True)
        except InfrastructureError as error:
            return f"[this log could not be read: {error}]"
        return shortened(written).decode("utf-8", errors="replace")


def _was_killed(seen: Mapping[str, Any]) -> bool:
    return not seen["State"]["Running"] and seen["State"]["ExitCode"] == KILLED


def gone(server: str) -> ServerNotReadyError:
    """Return the error for a container that no longer exists."""
    return ServerNotReadyError(f"{server} is gone: its container was removed during the run")


def containers_of(client: docker.DockerClient, run_id: str) -> dict[str, Container]:
    """List the containers of a run, including stopped ones, by the name of their server."""
    with as_infrastructure_errors():
        found = client.api.containers(all=True, filters={"label": f"{ownership.RUN}={run_id}"})
    return {
        each["Labels"][SERVICE]: Container(each["Labels"][SERVICE], each["Id"], tuple(each["Ports"]), client)
        for each in found
    }
