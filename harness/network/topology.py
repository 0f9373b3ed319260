"""The edges between clients and servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.engines import Topology

Direction = Literal["both", "to-server", "to-client"]
"""Which way packets are lost on an edge that is cut.

to-server: requests get lost, so nothing happens. to-client: answers get lost, so it happens,
and the client does not hear of it.
"""


@dataclass(frozen=True, slots=True)
class Edge:
    """The way from one client to one server, through a proxy of its own."""

    client: int
    server: str

    def __str__(self) -> str:
        return f"client:{self.client} → {self.server}"

    def proxy_name(self, run_id: str) -> str:
        """Name its proxy: with the run, so that a change sent to another run's server is refused."""
        return f"{run_id}.client-{self.client}.{self.server}"


@dataclass(frozen=True, slots=True)
class Link:
    """The way from a replica to the server that it follows, through a proxy of its own."""

    follower: str
    server: str

    def __str__(self) -> str:
        return f"{self.follower} → {self.server}"

    def proxy_name(self, run_id: str) -> str:
        """Name its proxy, as that of an edge."""
        return f"{run_id}.{self.follower}.{self.server}"


Way = Edge | Link


def links(topology: Topology) -> tuple[Link, ...]:
    """List the links of a topology: one for each replica."""
    return tuple(Link(server.name, server.follows) for server in topology.servers if server.follows)


def edges(topology: Topology) -> tuple[Edge, ...]:
    """List the edges of a topology: from each client to each server."""
    return tuple(
        Edge(client, server.name) for client in range(topology.clients) for server in topology.servers
    )
