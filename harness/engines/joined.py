"""Servers that already run, together with servers of an engine that cannot put proxies in front of them.

Docker's proxies run in a container, where 127.0.0.1 is not this machine. So the servers that
already run get proxies on this machine, those of the local engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines.engine import Cluster, Engine, Notify, Refusal
from harness.engines.local import LocalEngine
from harness.network.topology import Address, Link, Server, Shift, Topology
from harness.processes.duty_cycle import Throttling

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

ATTACHED = "attached"  # what names the local engine's part of a run


def with_attached(engine: Engine, topology: Topology) -> Engine:
    """Return an engine that also reaches the servers of a topology that already run."""
    return engine if isinstance(engine, LocalEngine) or not topology.attached else JoinedEngine(engine)


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """Servers that an engine has started, and others that already ran."""

    started: Cluster
    attached: Cluster

    @property
    def servers(self) -> tuple[Server, ...]:
        """All servers."""
        return (*self.started.servers, *self.attached.servers)

    @property
    def earlier_runs(self) -> int | None:
        """How many runs had the started servers before."""
        return self.started.earlier_runs

    @property
    def toxiproxy(self) -> Toxiproxy | None:
        """The proxies of all edges."""
        first, second = self.started.toxiproxy, self.attached.toxiproxy
        if first is None or second is None:
            return None
        return replace(first, others={server.name: second for server in self.attached.servers})

    @property
    def links(self) -> Mapping[Link, Address | None]:
        """The links between members of started clusters."""
        return self.started.links

    def edge(self, client: int, server: str) -> Address:
        """Return where this client reaches that server."""
        return self._cluster_of(server).edge(client, server)

    def direct(self, server: str) -> Address:
        """Return where this machine reaches that server with nothing in between."""
        return self._cluster_of(server).direct(server)

    def execute(self, server: str, command: Sequence[str], image: str = "") -> str | None:
        """Run a program next to a started server."""
        return self._cluster_of(server).execute(server, command, image)

    def _cluster_of(self, server: str) -> Cluster:
        attached = server in (each.name for each in self.attached.servers)
        return self.attached if attached else self.started

    def check(self) -> None:
        """Raise ServerNotReadyError if a started server, or a proxy, has ended."""
        self.started.check()
        self.attached.check()

    def kill(self, servers: Sequence[str], *, orderly: bool = False) -> str:
        """Kill started servers."""
        return self.started.kill(servers, orderly=orderly)

    def restart(self, servers: Sequence[str]) -> None:
        """Restart started servers that were killed."""
        self.started.restart(servers)

    def pause(self, servers: Sequence[str]) -> str:
        """Stop all processes of started servers."""
        return self.started.pause(servers)

    def resume(self, servers: Sequence[str]) -> str:
        """Continue started servers."""
        return self.started.resume(servers)

    def throttled(
        self, servers: Sequence[str], share: float
    ) -> AbstractContextManager[Mapping[str, Throttling]]:
        """Limit the CPU of started servers."""
        return self.started.throttled(servers, share)

    def shift_of(self, server: str) -> Shift:
        """Return how a started server's clock is shifted now."""
        return self.started.shift_of(server)

    def set_clock(self, server: str, shift: Shift) -> None:
        """Shift the clock of a started server."""
        self.started.set_clock(server, shift)

    def environment(self) -> dict[str, Any]:
        """Return what both know of their servers."""
        first, second = self.started.environment(), self.attached.environment()
        return {**first, "servers": first["servers"] | second["servers"]}

    def logs(self) -> dict[str, str]:
        """Return the logs of both."""
        return {f"{ATTACHED}-{name}": log for name, log in self.attached.logs().items()} | self.started.logs()

    def lent(self, earlier_runs: int) -> JoinedCluster:
        """Return the same servers, as a run gets them that does not have them for itself."""
        return replace(self, started=self.started.lent(earlier_runs))


@dataclass(frozen=True, slots=True)
class JoinedEngine:
    """Another engine for the servers that are started, and the local one for those that already run."""

    engine: Engine

    @property
    def name(self) -> str:
        """Return the name of the other engine."""
        return self.engine.name

    def refusal(self, topology: Topology) -> Refusal | None:
        """Return the error of the one that cannot run its part; None if both can."""
        started, attached = _parts(topology)
        refusal = self.engine.refusal(started) if started.servers else None
        return refusal or LocalEngine().refusal(attached)

    @contextmanager
    def start(self, topology: Topology, run_id: str, folder: Path, notify: Notify) -> Iterator[Cluster]:
        """Start both parts, and yield them as one; without servers to start, only proxies."""
        started, attached = _parts(topology)
        name = f"{run_id}-{ATTACHED}"
        with LocalEngine().start(attached, name, folder, notify) as beside:
            if not started.servers:
                yield beside
                return
            with self.engine.start(started, run_id, folder, notify) as cluster:
                yield JoinedCluster(cluster, beside)


def _parts(topology: Topology) -> tuple[Topology, Topology]:
    """Return the servers to start, and those that already run."""
    nothing = Topology(servers=(), clients=topology.clients, partitions=topology.partitions)
    return replace(topology, attached=()), replace(nothing, attached=topology.attached)
