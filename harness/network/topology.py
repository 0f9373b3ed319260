"""The servers of a run, where they listen, and the edges between them and the clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

REPLICA = "redis-replica"
"""The name of the server that follows the first of its side."""


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
