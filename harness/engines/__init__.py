"""Engines start the servers of a target, and the proxies in front of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy


@dataclass(frozen=True, slots=True)
class Address:
    """Where something listens, and the password that it asks for, if any."""

    host: str
    port: int
    password: str = field(default="", repr=False, compare=False)  # of this run; in no file that stays

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server that a target needs."""

    name: str  # "etcd-1", "postgres"
    system: str  # "etcd", "postgres": the compose file, and the image's folder
    image: str | None = None  # an official image instead of ours
    cluster: str = ""  # servers of one system and one cluster know each other
    durable: bool = True  # has what it acknowledged on disk (Redis only)
    follows: str = ""  # the server whose replica it is (Redis only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server that runs."""

    name: str
    system: str
    address: Address  # as the harness reaches it, past every proxy
    upstream: Address  # as the proxies reach it
    cluster: str = ""
    durable: bool = True
    follows: Address | None = None  # where it finds the server whose replica it is: through a proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """All that a run needs started: the servers, and one proxy an edge."""

    servers: tuple[ServerSpec, ...]
    clients: int  # each gets an edge to each server
    partitions: bool  # are the edges going to be cut?
    killed: tuple[str, ...] = ()  # the servers that are going to be
    clocks: tuple[str, ...] = ()  # the servers whose clocks are going to be moved


class Cluster(Protocol):
    """Servers that are up and usable."""

    @property
    def servers(self) -> tuple[Server, ...]:
        """Those that the target named, in its order."""

    @property
    def toxiproxy(self) -> Toxiproxy | None:
        """What cuts edges; None: no proxy stands between, and no edge can be cut."""

    def edge(self, client: int, server: str) -> Address:
        """Where this client reaches that server: through a proxy of its own if there are proxies."""

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last words, if one of the servers has ended."""

    def kill(self, servers: Sequence[str]) -> str:
        """End servers with SIGKILL, all at once; return how they were seen ended.

        From now on `check` finds nothing wrong with that.
        """

    def start_again(self, servers: Sequence[str]) -> None:
        """Start servers that were killed, and wait until each is usable; ServerNotReadyError if not.

        Those that run are left alone. The address of a server may be another one afterwards.
        """

    def move_clock(self, server: str, ahead: int) -> None:
        """Set a server's wall clock that many ns ahead of this machine's; 0 sets it right."""

    def environment(self) -> dict[str, Any]:
        """Versions, images with their digests, what else a reader must know; for environment.json."""

    def logs(self) -> dict[str, str]:
        """The log of each server, by name."""


class Engine(Protocol):
    """Starts and stops servers; leaves nothing behind."""

    @property
    def name(self) -> str:
        """Return "docker" or "local"."""

    def refusal(self, topology: Topology) -> str | None:
        """Say why this engine cannot run that (and how to mend it), or None if it can."""

    def start(
        self, topology: Topology, run_id: str, folder: Path, notify: Callable[[str], None]
    ) -> AbstractContextManager[Cluster]:
        """Start everything, yield when it is usable, and remove it all at the end.

        `notify` gets one line for each thing that takes long (an image that is being built).
        Raises ServerNotReadyError or EngineUnavailableError, with nothing left behind.
        """
