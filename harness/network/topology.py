"""The servers of a run, their addresses, and the edges between them and the clients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

REPLICA = "redis-replica"
STANDBY = "postgres-standby"
FOLLOWERS = (REPLICA, STANDBY)
"""The names of servers that follow the first server of their side."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server or proxy listens, and its password, if any."""

    host: str
    port: int
    password: str = field(default="", repr=False, compare=False)  # of this run; in no file that outlives it
    user: str = ""  # whose password that is; "": the one of servers that we start
    database: str = ""  # "": the same (PostgreSQL only)
    ticket: str = field(default="", repr=False, compare=False)  # of a login for all clients (etcd only)
    ca_file: str = ""  # the certificate authority of a server that speaks TLS here (PostgreSQL only)
    cert_file: str = ""  # what clients show it there, and the key of that; "": nothing
    key_file: str = ""
    certified: str = ""  # the host in its certificate

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def with_login_of(self, other: Address) -> Address:
        """Return this address with the login of another, to which it leads."""
        return replace(
            self,
            password=other.password,
            user=other.user,
            database=other.database,
            ticket=other.ticket,
            ca_file=other.ca_file,
            cert_file=other.cert_file,
            key_file=other.key_file,
            certified=other.certified,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedSpec:
    """One server that was running before the run, and runs on after it."""

    name: str  # "etcd-1", as if we had started it
    system: str  # "" for one that only a program or a class of the user knows
    address: Address  # as the target names it
    ca_file: str = ""  # the certificate authority of its TLS; "": it speaks no TLS to us
    cert_file: str = ""  # what we show it, and the key of that; "": nothing
    key_file: str = ""
    key: str = ""  # where the target names it, such as "lock.servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server that a target needs."""

    name: str  # "etcd-1", "postgres"
    system: str  # "etcd", "postgres": the compose file, and the image's folder
    image: str | None = None  # an official image instead of ours
    release: str = ""  # build this release, such as "3.6.7" (etcd only)
    memory: int = 0  # bytes; its limit on Docker; 0: the one of its compose file
    cluster: str = ""  # servers of the same system and cluster form one cluster
    durable: bool = True  # is every acknowledged write on disk? (Redis only)
    session: int = 0  # s; how long a client's session lasts without a heartbeat (Hazelcast only)
    follows: str = ""  # its primary (Redis and PostgreSQL only)
    synchronous: bool = False  # does a commit wait for the standby? (PostgreSQL with a standby only)
    manager: str = ""  # "patroni" decides which server leads; "": nothing does (the same only)


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
    """List the links of a topology: one for each replica."""
    return tuple(Link(server.name, server.follows) for server in topology.servers if server.follows)


def names_of_servers(topology: Topology) -> tuple[str, ...]:
    """List the names of the servers, started or not."""
    started = tuple(server.name for server in topology.servers)
    return started + tuple(server.name for server in topology.attached)


def edges(topology: Topology) -> tuple[NetworkEdge, ...]:
    """List the edges of a topology: from each client to each server."""
    return tuple(
        NetworkEdge(client, name) for client in range(topology.clients) for name in names_of_servers(topology)
    )
