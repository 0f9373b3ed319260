"""The local engine: this machine's servers, or those of PyPI wheels, as child processes on loopback."""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from harness.core.errors import (
    ConfigurationError,
    EngineUnavailableError,
    InfrastructureError,
    ServerNotReadyError,
)
from harness.engines import local_postgres, local_toxiproxy, local_zookeeper
from harness.engines.attached import Attached, about, about_attached, reached
from harness.engines.engine import Notify, Refusal
from harness.engines.local_systems import CLOCKS_NEED_DOCKER, SOURCES, STARTERS, WITH_PASSWORD, never
from harness.engines.readiness import is_ready, wait_until_usable
from harness.engines.server_programs import DISTRIBUTIONS, check, find
from harness.network import ports
from harness.network.members import probed_links
from harness.network.systems import SYSTEMS
from harness.network.topology import Address, Link, NetworkEdge, Server, Shift, Topology, edges, links
from harness.processes import ownership, process_tree
from harness.processes.cleanup_process import continued_at_end
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.duty_cycle import Throttling, duty_cycle
from harness.processes.run_notes import leave_note
from harness.processes.supervisor import Child, Supervisor
from harness.processes.unprivileged import unprivileged_user
from workloads.settings import Login

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

READY_TIMEOUT = 20.0  # s; they take 1 to 2
FOREIGN = 5.0  # s from an unfit answer on our port until our own server must have ended, if it is not its own
ATTEMPTS = 3  # another process may take a port after we found it free


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """Servers as child processes."""

    servers: tuple[Server, ...]
    toxiproxy: Toxiproxy | None
    supervisor: Supervisor
    proxies: Mapping[
        NetworkEdge, Address
    ]  # where clients enter an edge: its proxy, or the TLS relay before it
    down: set[str] = field(default_factory=set)  # killed, and not usable again yet
    changing: threading.Lock = field(
        default_factory=threading.Lock
    )  # of `down` and the supervisor's children
    paused: dict[tuple[str, ...], ExitStack] = field(default_factory=dict)
    earlier_runs: int | None = None
    links: Mapping[Link, Address | None] = field(default_factory=dict)

    def lent(self, earlier_runs: int) -> LocalCluster:
        """Return the same servers, as a run gets them that does not have them for itself."""
        return replace(self, earlier_runs=earlier_runs)

    @property
    def children(self) -> tuple[Child, ...]:
        """The processes of the servers and of Toxiproxy."""
        return tuple(self.supervisor.children)

    def edge(self, client: int, server: str) -> Address:
        """Return where this client reaches that server: its own proxy, or else the server itself."""
        direct = {each.name: each.address for each in self.servers}[server]
        return replace(self.proxies.get(NetworkEdge(client, server), direct), login=direct.login)

    def direct(self, server: str) -> Address:
        """Return the address of a server: its clients' proxies are elsewhere."""
        return next(each.address for each in self.servers if each.name == server)

    def execute(self, server: str, command: Sequence[str], image: str = "") -> None:
        """Run nothing: Fencepost knows no tools of this machine."""

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last log lines, if a server ended that no fault has killed."""
        with self.changing:
            for child in self.children:
                if child.name not in self.down:
                    child.check()

    def kill(self, servers: Sequence[str], *, orderly: bool = False) -> str:
        """End servers; return the evidence that they ended."""
        with self.changing:
            self.down.update(servers)
        children = self._of(servers)
        systems = {server.name: server.system for server in self.servers}
        for child in children:
            stop = SYSTEMS[systems[child.name]].stop_signal
            child.end(signal.Signals[stop]) if orderly else child.kill()
        ended = ", ".join(f"{child.name} (process {child.process.pid})" for child in children)
        return f"{'an orderly stop' if orderly else 'SIGKILL'}, and {ended} ended"

    def restart(self, servers: Sequence[str]) -> None:
        """Restart killed servers, and wait until each is usable."""
        with self.changing:
            for child in self._of(servers):
                if child.has_ended():
                    self.supervisor.restart(child)
        deadline = time.monotonic() + READY_TIMEOUT
        for server in self.servers:
            if server.name in servers:
                _wait_for(server.name, _is_ready(server), self._of(servers), deadline)
        with self.changing:
            self.down.difference_update(servers)

    def pause(self, servers: Sequence[str]) -> str:
        """Stop servers and their child processes with SIGSTOP; return the evidence that they are stopped."""
        heads = self._heads(servers).values()
        self.paused.setdefault(tuple(servers), ExitStack()).enter_context(continued_at_end(heads))
        stopped = [process_tree.stop_all(head) for head in heads]
        if None in stopped:
            raise InfrastructureError(f"{', '.join(servers)} should be stopped, but a process is running")
        count = sum(map(len, filter(None, stopped)))
        return f"SIGSTOP, and all processes of {', '.join(servers)} ({count}) are in state T"

    def resume(self, servers: Sequence[str]) -> str:
        """Continue servers and their child processes with SIGCONT; return the evidence that they run."""
        self.paused.pop(tuple(servers), ExitStack()).close()
        _expect_running(self._heads(servers))
        return f"SIGCONT, and no process of {', '.join(servers)} is in state T"

    @contextmanager
    def throttled(self, servers: Sequence[str], share: float) -> Iterator[Mapping[str, Throttling]]:
        """Stop and continue servers and their child processes, so that each runs for a share of the time."""
        heads = self._heads(servers)
        with continued_at_end(heads.values()), ExitStack() as cycles:
            yield {name: cycles.enter_context(duty_cycle(head, share)) for name, head in heads.items()}
        _expect_running(heads)

    def shift_of(self, _server: str) -> Shift:
        """Return no shift."""
        return Shift()

    def set_clock(self, server: str, shift: Shift) -> None:
        """Raise InfrastructureError; `refusal` has already refused such a run."""
        raise InfrastructureError(f"{CLOCKS_NEED_DOCKER} (asked for: {server}, {shift})")

    def _of(self, servers: Sequence[str]) -> tuple[Child, ...]:
        return tuple(child for child in self.children if child.name in servers)

    def _heads(self, servers: Sequence[str]) -> Mapping[str, psutil.Process]:
        """Return the processes of servers, by name; ServerNotReadyError if one has ended."""
        children = self._of(servers)
        for child in children:
            child.check()
        return {child.name: psutil.Process(child.process.pid) for child in children}

    def environment(self) -> dict[str, Any]:
        """Return the versions of the servers, and where their programs are from."""
        started = {child.name for child in self.children}
        systems = {server.system for server in self.servers if server.name in started} & SOURCES.keys()
        programs = {system: find(SOURCES[system]) for system in sorted(systems)}
        wheels = {DISTRIBUTIONS[program.package] for program in programs.values() if program.package}
        return {
            "engine": "local",
            "servers": {
                server.name: about(server) if server.name in started else about_attached(server)
                for server in self.servers
            },
            "programs": {
                name: str(program.path) for name, program in programs.items() if not program.package
            },
            "wheels": {wheel: metadata.version(wheel) for wheel in sorted(wheels)},
            "toxiproxy": None if self.toxiproxy is None else self.toxiproxy.version(),
        }

    def logs(self) -> dict[str, str]:
        """Return the log of each child, by name."""
        return {child.name: child.read_log() for child in self.children}


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Starts servers without Docker."""

    name: str = "local"
    replaces_docker: bool = False  # chosen only because this machine has no Docker engine that answers

    def refusal(self, topology: Topology) -> Refusal | None:
        """Return the error of a run of this topology, with the remedy; None if it can run."""
        if why := never(topology):
            return EngineUnavailableError(why) if self.replaces_docker else ConfigurationError(why)
        try:
            for spec in topology.servers:
                killed = spec.name in topology.killed
                if spec.system in SOURCES:
                    check(SOURCES[spec.system], killed=killed)
                else:
                    local_zookeeper.check(killed=killed)
        except EngineUnavailableError as error:
            return error
        why_not = local_toxiproxy.refusal() if _needs_toxiproxy(topology) else None
        return EngineUnavailableError(why_not) if why_not else None

    @contextmanager
    def start(self, topology: Topology, run_id: str, folder: Path, notify: Notify) -> Iterator[LocalCluster]:
        """Start everything, yield once it is usable, and remove it all but the logs in `folder/logs`."""
        if refusal := self.refusal(topology):
            raise refusal
        toxiproxy = local_toxiproxy.provide(notify) if _needs_toxiproxy(topology) else local_toxiproxy.find()
        marks = ownership.this_process().marks(run_id)
        home = local_postgres.home_of_servers(folder.resolve(), run_id)
        note = leave_note(marks, self.name, [home])
        supervisor = Supervisor(
            home, folder.resolve() / "logs", ownership.as_environment(marks), unprivileged_user()
        )
        try:
            with reached(topology.attached, supervisor.logs) as attached:
                yield _tried(partial(_start, topology, run_id, supervisor, toxiproxy, attached), supervisor)
        finally:
            with deferred_interrupts():
                supervisor.close()
                note.unlink(missing_ok=True)


def _expect_running(heads: Mapping[str, psutil.Process]) -> None:
    """Raise InfrastructureError if a process of these servers stays stopped."""
    processes = [process for head in heads.values() for process in process_tree.members(head)]
    if not process_tree.wait_until_continued(processes):
        raise InfrastructureError(f"{', '.join(heads)} should be running, but a process is stopped")


def _needs_toxiproxy(topology: Topology) -> bool:
    return topology.partitions or bool(links(topology))


def _tried(start: Callable[[], LocalCluster], supervisor: Supervisor) -> LocalCluster:
    for _ in range(ATTEMPTS - 1):
        try:
            return start()
        except ServerNotReadyError as error:
            if ports.TAKEN not in str(error).lower():
                raise
            supervisor.clear()
    return start()


def _start(
    topology: Topology, run_id: str, supervisor: Supervisor, program: Path | None, attached: Attached
) -> LocalCluster:
    supervisor.make()
    api, *addresses = ports.free_addresses(1 + len(topology.servers) + len(links(topology)))
    servers = _servers(topology, iter(addresses))
    if program is not None:
        supervisor.spawn("toxiproxy", [supervisor.program(program), f"-host={api.host}", f"-port={api.port}"])
    for system, start in STARTERS.items():
        members = [server for server in servers if server.system == system]
        for cluster in dict.fromkeys(server.cluster for server in members):
            start([server for server in members if server.cluster == cluster], supervisor)
    deadline = time.monotonic() + READY_TIMEOUT
    every = (*servers, *attached.servers)
    toxiproxy: Toxiproxy | None = None
    entrances: dict[NetworkEdge, Address] = {}
    if program is not None:
        from harness.network.toxiproxy import Toxiproxy

        toxiproxy = Toxiproxy(api, run_id)
        _wait_for("toxiproxy", toxiproxy.answers, supervisor.children, deadline)
        entrances = _proxies(toxiproxy, topology, every)
        fronts = attached.fronts(entrances)
        toxiproxy = replace(toxiproxy, fronts=fronts)
        entrances |= {edge: front.address for edge, front in fronts.items()}
    for server in servers:
        _wait_for(server.name, _is_ready(server), supervisor.children, deadline)
    following = {server.name: server.follows for server in servers}
    split = {link: following[link.source] for link in probed_links(topology)}
    return LocalCluster(every, toxiproxy, supervisor, entrances, links=split)


def _servers(topology: Topology, free: Iterator[Address]) -> tuple[Server, ...]:
    """Give each server an address, and each replica another for its link; one new password for all."""
    login = Login(password=secrets.token_hex(16))
    return tuple(
        Server(
            name=spec.name,
            system=spec.system,
            cluster=spec.cluster,
            address=replace(address, login=login if spec.system in WITH_PASSWORD else Login()),
            upstream=address,
            durable=spec.durable,
            synchronous=spec.synchronous,
            min_replicas=spec.min_replicas,
            follows=next(free) if spec.follows else None,
        )
        for spec in topology.servers
        for address in [next(free)]
    )


def _is_ready(server: Server) -> Callable[[], bool]:
    return partial(is_ready, server.system, server.address)


def _wait_for(name: str, is_usable: Callable[[], bool], children: Sequence[Child], deadline: float) -> None:
    """Wait until one of these children is usable, while all of them run."""

    def check() -> None:
        for child in children:
            child.check()

    (failed,) = (child.failed for child in children if child.name == name)
    why = f"is not usable after {READY_TIMEOUT:g} s"
    wait_until_usable(is_usable, check, failed, deadline=deadline, why=why, foreign=FOREIGN)


def _proxies(
    toxiproxy: Toxiproxy, topology: Topology, servers: tuple[Server, ...]
) -> dict[NetworkEdge, Address]:
    known = {server.name: server for server in servers}
    toxiproxy.create(
        {
            link: (listen, known[link.server].upstream)
            for link in links(topology)
            if (listen := known[link.source].follows)
        }
    )
    anywhere = Address(ports.HOST, 0)  # Toxiproxy chooses a free port
    states = toxiproxy.create({edge: (anywhere, known[edge.server].upstream) for edge in edges(topology)})
    return {edge: state.listen for edge, state in states.items()}
