"""The servers of a run, their addresses, and the edges between them and the clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from workloads.settings import Login

REPLICA = "redis-replica"
STANDBY = "postgres-standby"
FOLLOWERS = (REPLICA, STANDBY)
"""The names of servers that follow the first server of their side."""
SENTINEL = "sentinel"
SERVERS = "servers"
"""The source of a link that all other servers of a side share."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server or proxy listens, and how to log in there."""

    host: str
    port: int
    login: Login = field(default_factory=Login)  # of this run; in no file that outlives it

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedSpec:
    """One server that was running before the run, and runs on after it."""

    name: str  # "etcd-1", as if we had started it
    system: str  # "" for one that only a program or a class of the user knows
    address: Address  # as the target names it
    key: str = ""  # where the target names it, such as "lock.servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server that a target needs."""

    name: str  # "etcd-1", "postgres"
    system: str  # "etcd", "postgres": the compose file, and the image's folder
    image: str | None = None  # an official image instead of ours
    release: str = ""  # build this release, such as "3.6.7"
    memory: int = 0  # bytes; its limit on Docker; 0: the one of its compose file
    cluster: str = ""  # servers of the same system and cluster form one cluster
    durable: bool = True  # is every acknowledged write on disk?
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)  # of its compose file
    follows: str = ""  # its primary
    synchronous: bool = False  # does a commit wait for the standby?
    min_replicas: int = 0  # that must answer, or it refuses writes
    manager: str = ""  # "patroni" or "sentinel": it decides which server leads; "": nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One running server."""

    name: str
    system: str
    address: Address  # for the harness, without proxies
    upstream: Address  # for the proxies
    cluster: str = ""
    durable: bool = True
    synchronous: bool = False
    min_replicas: int = 0
    follows: Address | None = None  # the address of its primary, through a proxy
    patroni: Address | None = None  # where its Patroni answers, if one runs it


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Everything that a run starts: the servers, and one proxy per edge."""

    servers: tuple[ServerSpec, ...]
    clients: int  # each gets an edge to each server
    attached: tuple[AttachedSpec, ...] = ()  # servers that are not started, with edges all the same
    partitions: bool  # will edges be cut?
    killed: tuple[str, ...] = ()  # the servers that will be killed
    clocks: tuple[str, ...] = ()  # the servers whose clocks will be moved
    throttled: tuple[str, ...] = ()  # the servers whose CPU will be limited
    split: tuple[str, ...] = ()  # the servers that will be cut off from other members of their cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A clock that is ahead, and may gain more for a while; moments are of CLOCK_MONOTONIC."""

    ahead: int = 0  # ns; until the moment `since`
    drift: float = 0.0  # seconds that it gains in each second from then on
    since: int = 0  # ns
    until: int | None = None  # ns; None: for ever

    def at(self, now: int) -> int:
        """Return how far it is ahead at a moment (ns)."""
        end = now if self.until is None else min(now, self.until)
        return self.ahead + round(self.drift * max(0, end - self.since))


Direction = Literal["both", "to-server", "to-client"]
"""The direction in which data is lost on a cut edge.

to-server: requests are lost and have no effect. to-client: requests take effect, but their
answers are lost.
"""


@dataclass(frozen=True, slots=True)
class NetworkEdge:
    """The route from one client to one server, through its own proxy."""

    client: int
    server: str

    def __str__(self) -> str:
        return f"client:{self.client} → {self.server}"

    def proxy_name(self, run_id: str) -> str:
        """Return its proxy's name, with the run: another run's Toxiproxy does not know it."""
        return f"{run_id}.client-{self.client}.{self.server}"


@dataclass(frozen=True, slots=True)
class Link:
    """The route from one server to another, through its own proxy."""

    source: str
    server: str
    port: int = 0  # to which of the other server's ports, if its members use several

    def __str__(self) -> str:
        return f"{self.source} → {self.server}{self._port}"

    def proxy_name(self, run_id: str) -> str:
        """Return its proxy's name, with the run."""
        return f"{run_id}.{self.source}.{self.server}{self._port}".replace(":", "-")

    @property
    def _port(self) -> str:
        return f":{self.port}" if self.port else ""


@dataclass(frozen=True, slots=True)
class Entrance:
    """The harness' own route into a link, to probe it: through a proxy in front of the link's."""

    link: Link

    @property
    def server(self) -> str:
        """Where the link leads."""
        return self.link.server

    def __str__(self) -> str:
        return str(self.link)

    def proxy_name(self, run_id: str) -> str:
        """Return its proxy's name, with the run."""
        return f"{self.link.proxy_name(run_id)}.entrance"


Way = NetworkEdge | Link | Entrance


def links(topology: Topology) -> tuple[Link, ...]:
    """List the links of a topology: one for each replica, or to each server that Sentinel manages."""
    return tuple(
        Link(SERVERS, server.name) if server.manager == SENTINEL else replication_link(server)
        for server in topology.servers
        if server.follows or server.manager == SENTINEL
    )


def replication_link(replica: ServerSpec) -> Link:
    """Return the link over which a replica reaches its primary."""
    return Link(SERVERS if replica.manager == SENTINEL else replica.name, replica.follows)


def names_of_servers(topology: Topology) -> tuple[str, ...]:
    """List the names of the servers, started or not."""
    started = tuple(server.name for server in topology.servers)
    return started + tuple(server.name for server in topology.attached)


def edges(topology: Topology) -> tuple[NetworkEdge, ...]:
    """List the edges of a topology: from each client to each server."""
    return tuple(
        NetworkEdge(client, name) for client in range(topology.clients) for name in names_of_servers(topology)
    )
