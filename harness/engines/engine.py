"""Engines: they start the servers of a target, and the proxies in front of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.core.errors import ConfigurationError, EngineUnavailableError
from harness.network.topology import Address, Link, Server, Shift, Topology
from harness.processes.duty_cycle import Throttling

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy


Notify = Callable[[str], None]
"""Gets a line for the user."""


class Cluster(Protocol):
    """Running, usable servers."""

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers that the target names, in its order."""

    @property
    def earlier_runs(self) -> int | None:
        """How many runs had these servers before; None: they are this run's own."""

    @property
    def toxiproxy(self) -> Toxiproxy | None:
        """The proxies of the edges; None: there are no proxies, so no edge can be cut."""

    @property
    def links(self) -> Mapping[Link, Address | None]:
        """The links between members of clusters that will be split; and where to probe each, if it can be."""

    def edge(self, client: int, server: str) -> Address:
        """Return where this client reaches that server: through its own proxy if there are proxies."""

    def direct(self, server: str) -> Address:
        """Return where this machine reaches a server with nothing in between, if there is such a way."""

    def execute(self, server: str, command: Sequence[str], image: str = "") -> str | None:
        """Run a program next to a server, and return what it prints; None if nothing can run there.

        It is the server's, or that of an image of ours that this machine has; then the server is at
        127.0.0.1. Raises InfrastructureError if it fails.
        """

    def check(self) -> None:
        """Raise ServerNotReadyError, with its last log lines, if one of the servers has ended."""

    def kill(self, servers: Sequence[str], *, orderly: bool = False) -> str:
        """Kill servers with SIGKILL, all at the same time; return the evidence that they ended.

        `orderly`: with the signal that makes them end by themselves.
        From then on `check` ignores that they have ended.
        """

    def restart(self, servers: Sequence[str]) -> None:
        """Restart killed servers, and wait until each is usable; ServerNotReadyError if that fails.

        Running servers are not affected. A server's address may change.
        """

    def pause(self, servers: Sequence[str]) -> str:
        """Stop all processes of servers; return the evidence that they are stopped.

        Raises InfrastructureError if one is not. They stay stopped, also then, until `resume`.
        """

    def resume(self, servers: Sequence[str]) -> str:
        """Continue servers, stopped or not; return the evidence, or raise InfrastructureError."""

    def throttled(
        self, servers: Sequence[str], share: float
    ) -> AbstractContextManager[Mapping[str, Throttling]]:
        """Limit each of these servers to a share of one CPU until the block ends.

        Raises InfrastructureError if the limit is not observed, or not observed gone.
        """

    def shift_of(self, server: str) -> Shift:
        """Return how a server's clock is shifted now."""

    def set_clock(self, server: str, shift: Shift) -> None:
        """Shift a server's clock against this machine's."""

    def environment(self) -> dict[str, Any]:
        """Return versions, and images with their digests, for environment.json."""

    def logs(self) -> dict[str, str]:
        """Return the log of each server, by name."""

    def lent(self, earlier_runs: int) -> Cluster:
        """Return the same servers, as a run gets them that does not have them for itself."""


Refusal = ConfigurationError | EngineUnavailableError
"""No machine's engine of this kind can run the target, or this machine lacks what it needs."""


class Engine(Protocol):
    """Starts and stops servers, and leaves nothing behind."""

    @property
    def name(self) -> str:
        """Return "docker" or "local"."""

    def refusal(self, topology: Topology) -> Refusal | None:
        """Return the error of a run of this topology, with the remedy; None if it can run."""

    def start(
        self, topology: Topology, run_id: str, folder: Path, notify: Notify
    ) -> AbstractContextManager[Cluster]:
        """Start everything, yield once it is usable, and remove it all at the end.

        `notify` gets one line for each slow step, such as building an image.
        Raises ServerNotReadyError or EngineUnavailableError, with nothing left behind but the logs of the
        servers, in `folder/logs`.
        """
