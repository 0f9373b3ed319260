"""The Docker engine: `docker compose` starts servers, the docker SDK manages them."""

from __future__ import annotations

import importlib.resources
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import docker

from harness.core.errors import ConfigurationError, EngineUnavailableError, InfrastructureError
from harness.engines.attached import about
from harness.engines.cleanup import DOCKER
from harness.engines.docker_api import as_infrastructure_errors, check_compose, compose_version, connect
from harness.engines.docker_compose import CLOCK, TOXIPROXY, Project, command_to_set
from harness.engines.docker_containers import Container, containers_of, gone
from harness.engines.docker_images import provide
from harness.engines.docker_members import HARNESS
from harness.engines.docker_removal import remove_all
from harness.engines.engine import Notify, Refusal
from harness.engines.readiness import is_ready, wait_until_usable
from harness.files.atomic_files import replace_file
from harness.network import patroni_server
from harness.network.members import member_links
from harness.network.ports import HOST
from harness.network.systems import SYSTEMS
from harness.network.topology import Address, Link, NetworkEdge, Server, ServerSpec, Shift, Topology, Way
from harness.network.toxiproxy import Toxiproxy
from harness.processes import ownership
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.duty_cycle import Throttled, Throttling
from harness.processes.run_notes import leave_note
from harness.processes.supervisor import Supervisor
from workloads.settings import Login

READY_TIMEOUT = 120.0  # s; they take one to three, a Patroni standby on a loaded machine more than 60
TOXIPROXY_API = 8474
EVERYWHERE = "0.0.0.0"  # noqa: S104 (in the container; published on 127.0.0.1 only)
SIGKILL = "SIGKILL"


@dataclass(frozen=True, slots=True)
class DockerCluster:
    """Servers that run in containers."""

    toxiproxy: Toxiproxy
    proxies: Mapping[NetworkEdge, Address]
    client: docker.DockerClient
    run_id: str
    known: dict[str, Server]  # by name; an address changes when its server restarts
    down: set[str] = field(default_factory=set)  # killed, and not usable again yet
    changing: threading.Lock = field(default_factory=threading.Lock)  # of `down`
    earlier_runs: int | None = None
    links: Mapping[Link, Address | None] = field(default_factory=dict)
    shifts: dict[str, Shift] = field(default_factory=dict)  # of clocks, by the name of their server

    def lent(self, earlier_runs: int) -> DockerCluster:
        """Return the same servers, as a run gets them that does not have them for itself."""
        return replace(self, earlier_runs=earlier_runs)

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers that the target names, in its order."""
        return tuple(self.known.values())

    def edge(self, client: int, server: str) -> Address:
        """Return where this client reaches that server: its own proxy."""
        return replace(self.proxies[NetworkEdge(client, server)], login=self.known[server].address.login)

    def direct(self, server: str) -> Address:
        """Return the address of a container, if this machine is in its network; Docker Desktop's is not."""
        known = self.known[server].address
        inside = replace(known, host=self._container(server).address(), port=self.known[server].upstream.port)
        return inside if is_ready(self.known[server].system, inside) else known

    def execute(self, server: str, command: Sequence[str], image: str = "") -> str:
        """Run a program in the container of a server, or in its network."""
        container = self._container(server)
        return container.beside(image, list(command)) if image else container.run(list(command))

    def environment(self) -> dict[str, Any]:
        """Return the versions of the servers and of Docker, and the images with their ids and digests."""
        with as_infrastructure_errors():
            return {
                "engine": "docker",
                "docker": self.client.version()["Version"],
                "compose": compose_version(),
                "servers": {server.name: about(server) for server in self.servers},
                "images": {
                    name: each.image() for name, each in containers_of(self.client, self.run_id).items()
                },
                "toxiproxy": self.toxiproxy.version(),
            }

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last log lines, if a server ended that no fault has killed."""
        with self.changing:
            for name in {*self.known, TOXIPROXY} - self.down:
                self._container(name).check()

    def kill(self, servers: Sequence[str], *, orderly: bool = False) -> str:
        """End containers, all at the same time; return the evidence that they ended."""
        containers = [self._container(name) for name in servers]
        with self.changing:
            self.down.update(servers)
        systems = {name: SYSTEMS[self.known[name].system] for name in servers}
        signals = {name: system.stop_signal if orderly else SIGKILL for name, system in systems.items()}
        _in_parallel(lambda container: container.kill(signals[container.name]), containers)
        return f"{', '.join(sorted(set(signals.values())))}, and Docker shows {', '.join(servers)} exited"

    def restart(self, servers: Sequence[str]) -> None:
        """Restart killed containers, and wait until each server is usable."""
        _in_parallel(Container.restart, [self._container(name) for name in servers])
        deadline = time.monotonic() + READY_TIMEOUT
        for name in servers:
            system = self.known[name].system
            container = self._container(name)  # its port has changed
            is_direct = container.publishes(SYSTEMS[system].port)  # not a member of a split cluster
            address = _published(container, system) if is_direct else self.known[name].address
            _wait(container, partial(is_ready, system, address), deadline)
            patroni = container.published(patroni_server.PORT) if self.known[name].patroni else None
            self.known[name] = replace(self.known[name], address=address, patroni=patroni)
        with self.changing:
            self.down.difference_update(servers)

    def pause(self, servers: Sequence[str]) -> str:
        """Stop containers with the kernel's freezer; return the evidence that they are stopped."""
        _in_parallel(Container.freeze, [self._container(name) for name in servers])
        return f"the freezer, and Docker shows {', '.join(servers)} paused"

    def resume(self, servers: Sequence[str]) -> str:
        """Continue containers, frozen or not; return the evidence that they run."""
        _in_parallel(Container.thaw, [self._container(name) for name in servers])
        return f"Docker shows {', '.join(servers)} running"

    @contextmanager
    def throttled(self, servers: Sequence[str], share: float) -> Iterator[Mapping[str, Throttling]]:
        """Limit the CPU of containers with the kernel's quota."""
        containers = [self._container(name) for name in servers]
        try:
            _in_parallel(lambda container: container.limit_cpu(share), containers)
            yield {container.name: _since_now(container) for container in containers}
        finally:
            _in_parallel(lambda container: container.limit_cpu(None), containers)

    def shift_of(self, server: str) -> Shift:
        """Return how a server's clock is shifted now."""
        return self.shifts.get(server, Shift())

    def set_clock(self, server: str, shift: Shift) -> None:
        """Set by how much clock.so shifts a server's clock."""
        self._container(CLOCK).run(command_to_set(server, shift))
        self.shifts[server] = shift

    def _container(self, server: str) -> Container:
        """Return the container of one server; ServerNotReadyError if it was removed."""
        found = containers_of(self.client, self.run_id).get(server)
        if found is None:
            raise gone(server)
        return found

    def logs(self) -> dict[str, str]:
        """Return the log of each container, by the name of its server."""
        return {name: each.log() for name, each in containers_of(self.client, self.run_id).items()}


@dataclass(frozen=True, slots=True)
class DockerEngine:
    """Starts servers in containers."""

    name: str = DOCKER

    def refusal(self, topology: Topology) -> Refusal | None:
        """Return the error of a run of this topology, with the remedy; None if it can run."""
        compose = importlib.resources.files("compose")
        for spec in topology.servers:
            if not compose.joinpath(f"{spec.system}.yaml").is_file() or spec.system not in SYSTEMS:
                return ConfigurationError(
                    f"there is no compose file for {spec.system}, only for {', '.join(SYSTEMS)}"
                )
        why_not = unavailability() or (_no_quota() if topology.throttled else None)
        return EngineUnavailableError(why_not) if why_not else None

    @contextmanager
    def start(self, topology: Topology, run_id: str, folder: Path, notify: Notify) -> Iterator[DockerCluster]:
        """Start everything, yield once it is usable, and remove it all at the end.

        The logs of image builds and of compose stay in `folder/logs`, and so do those of the servers if
        they do not become usable.
        """
        check_compose()
        marks = ownership.this_process().marks(run_id)
        home = folder.resolve() / "compose"
        project = Project(topology, marks, home / "override.yaml")
        environment = project.environment() | ownership.as_environment(marks)
        supervisor = Supervisor(home, folder.resolve() / "logs", environment)
        with closing(connect()) as client:
            note = leave_note(marks, self.name, [home])
            try:
                supervisor.make()
                provide(client, project.images().values(), supervisor, notify)
                with _logs_kept_on_failure(client, run_id, supervisor.logs):
                    project.up(supervisor)
                    cluster = _usable(client, project, run_id)
                yield cluster
            finally:
                with deferred_interrupts():
                    supervisor.close()
                    with as_infrastructure_errors():
                        remove_all(client, run_id)
                    note.unlink(missing_ok=True)


@contextmanager
def _logs_kept_on_failure(client: docker.DockerClient, run_id: str, logs: Path) -> Iterator[None]:
    """Save the logs of a run's containers if the block fails, before they are removed."""
    try:
        yield
    except BaseException:
        with suppress(InfrastructureError, OSError):  # the first error says more
            for name, container in containers_of(client, run_id).items():
                replace_file(logs / f"{name}.log", [container.log()])
        raise


def unavailability() -> str | None:
    """Say why Docker cannot be used here; None if it can."""
    try:
        connect().close()
        check_compose()
    except EngineUnavailableError as error:
        return str(error)
    return None


def _no_quota() -> str | None:
    """Say why the CPU of containers cannot be limited; None if it can."""
    with closing(connect()) as client, as_infrastructure_errors():
        if client.info().get("CpuCfsQuota"):
            return None
    return "Docker cannot limit the CPU of a container here: the kernel needs CONFIG_CFS_BANDWIDTH"


def _since_now(container: Container) -> Throttling:
    before = container.throttled()

    def since() -> Throttled:
        now = container.throttled()
        return Throttled(now.times - before.times, now.cpu - before.cpu)

    return since


def _usable(client: docker.DockerClient, project: Project, run_id: str) -> DockerCluster:
    """Create the proxies while the servers get ready, and wait for the servers."""
    deadline = time.monotonic() + READY_TIMEOUT
    containers = containers_of(client, run_id)
    servers = tuple(_served(spec, project, containers) for spec in project.topology.servers)
    toxiproxy = Toxiproxy(containers[TOXIPROXY].published(TOXIPROXY_API), run_id)
    _wait(containers[TOXIPROXY], toxiproxy.answers, deadline)
    upstream = {server.name: server.upstream for server in servers}
    ways: Iterable[tuple[Way, int]] = chain(
        project.edge_ports().items(), project.link_ports().items(), project.members.doors().items()
    )
    toxiproxy.create({way: (Address(EVERYWHERE, port), upstream[way.server]) for way, port in ways})
    links = _connect_members(project, toxiproxy, containers[TOXIPROXY])
    for server in servers:
        _wait(containers[server.name], partial(is_ready, server.system, server.address), deadline)
    proxies = {edge: containers[TOXIPROXY].published(port) for edge, port in project.edge_ports().items()}
    known = {server.name: server for server in servers}
    return DockerCluster(toxiproxy, proxies, client, run_id, known, links=links)


def _served(spec: ServerSpec, project: Project, containers: Mapping[str, Container]) -> Server:
    """Return a server whose container runs; the harness reaches a member of a split cluster by a proxy."""
    door = project.members.doors().get(Link(HARNESS, spec.name))
    toxiproxy = containers[TOXIPROXY]
    return Server(
        name=spec.name,
        system=spec.system,
        cluster=spec.cluster,
        address=toxiproxy.published(door) if door else _published(containers[spec.name], spec.system),
        upstream=Address(project.members.host(spec.name), SYSTEMS[spec.system].port),
        durable=spec.durable,
        synchronous=spec.synchronous,
        min_replicas=spec.min_replicas,
        follows=project.link_address(spec) if spec.follows else None,
        patroni=containers[spec.name].published(patroni_server.PORT) if spec.manager == "patroni" else None,
    )


def _published(container: Container, system: str) -> Address:
    """Return a server's address and password: containers require none, or a known one."""
    known = SYSTEMS[system]
    return replace(container.published(known.port), login=Login(password=known.password))


def _in_parallel(work: Callable[[Container], None], containers: Sequence[Container]) -> None:
    """Raise the first error once all are done."""
    with ThreadPoolExecutor(len(containers)) as pool:
        done = [pool.submit(work, container) for container in containers]
    for each in done:
        each.result()


def _wait(container: Container, is_usable: Callable[[], bool], deadline: float) -> None:
    why = f"is not usable after {READY_TIMEOUT:g} s"
    wait_until_usable(is_usable, container.check, container.failed, deadline=deadline, why=why)


def _connect_members(project: Project, toxiproxy: Toxiproxy, proxy: Container) -> dict[Link, Address | None]:
    """Create a proxy for each link in Toxiproxy's container; return where each can be probed, if it can."""
    if not project.topology.split:
        return {}
    members = project.members
    at = {name: proxy.address_in(project.network(name)) for name in members.names}
    between = {
        link: (Address(at[link.source], port), Address(members.host(link.server), port))
        for link in member_links(project.topology)
        for port in [members.port(link.server, link.port)]
    }
    toxiproxy.create(between)
    listen = {link: Address(HOST, port) for link, port in project.link_ports().items()}
    listen |= {link: addresses[0] for link, addresses in between.items()}
    entrances = members.entrance_ports()
    toxiproxy.create({way: (Address(EVERYWHERE, port), listen[way.link]) for way, port in entrances.items()})
    unprobed: dict[Link, Address | None] = dict.fromkeys(between)
    return unprobed | {way.link: proxy.published(port) for way, port in entrances.items()}
