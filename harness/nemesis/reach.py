"""Everything that the faults of a run can hit: its clients, its servers, and the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

import psutil

from harness.clients.shared_state import SharedState
from harness.engines.engine import Cluster
from harness.nemesis.fields import names_in
from harness.network.topology import NetworkEdge

SideOfTarget = Literal["lock", "storage"]
ServersOfSides = Mapping[SideOfTarget, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReach:
    """The clients, servers and edges of one run."""

    cluster: Cluster
    sides: ServersOfSides
    processes: Sequence[psutil.Process]  # one for each client
    state: SharedState | None = None  # what clients publish
    ended_by_faults: set[int] = field(default_factory=set)  # clients that were killed, or are being stopped
    start_again: Callable[[int], tuple[int, int]] = lambda _client: (0, 0)  # as `ClientPool` does

    @property
    def clients(self) -> range:
        """The numbers of the clients."""
        return range(len(self.processes))

    def servers(self, aim: Iterable[str]) -> tuple[str, ...]:
        """Return the servers that a fault aims at."""
        return servers_hit(aim, self.sides)

    def edges(self, servers: Iterable[str]) -> AbstractSet[NetworkEdge]:
        """Return the edges from every client to some servers."""
        return {NetworkEdge(client, server) for client in self.clients for server in servers}

    def servers_and_edges(self, aim: Iterable[str]) -> AbstractSet[str | NetworkEdge]:
        """Return the servers that a fault aims at, and the edges to them, over which it is proved."""
        servers = self.servers(aim)
        return {*servers, *self.edges(servers)}

    def siblings(self, server: str) -> tuple[str, ...]:
        """Return all servers of the side that a server belongs to."""
        return next(names for names in self.sides.values() if server in names)

    def recorded(self, target: str) -> str:
        """Return the name of the target in the history, for a fault on servers."""
        return recorded_target(target, self.sides)


def servers_hit(aim: Iterable[str], sides: ServersOfSides) -> tuple[str, ...]:
    """Return the names of the servers, each once, of sides or named directly."""
    named = tuple(aim)
    return tuple(
        dict.fromkeys(
            name for side, names in sides.items() for name in names if side in named or name in named
        )
    )


def recorded_target(target: str, sides: ServersOfSides) -> str:
    """Return "lock" or "storage", or for servers such as "lock:redis-1" or "lock:redis-1, redis-2"."""
    of = [side for side, names in sides.items() if set(names) >= set(names_in(target))]
    return f"{of[0]}:{target}" if of else target
