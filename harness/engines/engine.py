"""Engines start the servers of a target, and the proxies in front of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.network.topology import Address, Server, Topology

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy


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
