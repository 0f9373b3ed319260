"""The locks that the user brings, as a class or with a program, and the servers to start for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from harness.core.duration import NS
from harness.network.topology import ServerSpec
from harness.spec.attached import MayHaveEndpoints, numbered
from harness.spec.fields import (
    CLASS_PATTERN,
    DEFAULT_TTL,
    HazelcastTtl,
    Image,
    KubernetesRelease,
    LeaseTtl,
    Ttl,
)
from harness.spec.sides import LimitedMemory, LockSide

CP_MEMBERS = 3


class OwnLockSection(LockSide, MayHaveEndpoints, LimitedMemory):
    """Your own class, as "package.module:Class"."""

    complete_at_once: ClassVar[None] = None

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["dynamodb", "etcd", "mariadb", "postgres", "redis", "s3", "zookeeper"] | None = None
    """The servers that Fencepost starts for it; without it, its servers, if any, are already running."""
    nodes: Annotated[int, Field(ge=1, le=5)] = 1
    """The number of servers: members of one etcd or ZooKeeper cluster, or independent Redis servers."""
    ttl: Ttl = DEFAULT_TTL
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the class; none: its lock gives none."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""

    @model_validator(mode="after")
    def _has_servers_to_count(self) -> Self:
        if self.server is None and {"nodes", "image", "memory"} & self.model_fields_set:
            raise ValueError("nodes, image and memory are for servers that Fencepost starts: set server too")
        if self.server in ("etcd", "zookeeper") and self.nodes not in (1, 3):
            raise ValueError(f"nodes must be 1 or 3 for {self.server}")
        if self.server in ("dynamodb", "mariadb", "postgres", "s3") and self.nodes != 1:
            raise ValueError(f"nodes must be 1 for {self.server}")
        return self

    @property
    def system(self) -> str:
        """The system of its servers."""
        return self.server or ""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        if self.server:
            return numbered(self.server, None, self.nodes)
        return numbered("lock", self.running, 0)


class _OfProgram(LockSide):
    complete_at_once: ClassVar[None] = None

    token: str = ""
    """The choice of the fencing token, passed to the program; none: its lock gives none."""


class _ServersOfProgram(_OfProgram, LimitedMemory):
    only_servers: ClassVar[bool] = True


class ServerOfProgram(_ServersOfProgram):
    """A server for the lock of the program of [client]; Fencepost has no lock of its own on it."""

    kind: Literal["dynamodb", "mariadb", "postgres"]
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""

    @property
    def system(self) -> str:
        """The system of its server."""
        return self.kind

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return numbered(self.kind, None, 1)


class PgbouncerOfProgram(_ServersOfProgram):
    """PostgreSQL behind PgBouncer in transaction mode, for the lock of the program of [client]."""

    system: ClassVar[str] = "pgbouncer"
    image: ClassVar[str] = "fencepost/postgres"  # official images have no PgBouncer
    servers: ClassVar[tuple[str, ...]] = ("pgbouncer-1",)

    kind: Literal["pgbouncer"]


class HazelcastOfProgram(_ServersOfProgram):
    """Hazelcast for the lock of the program of [client]: three members of the CP subsystem, in memory."""

    system: ClassVar[str] = "hazelcast"

    kind: Literal["hazelcast"]
    ttl: HazelcastTtl = DEFAULT_TTL
    """How long a CP session lasts without a heartbeat, which clients send each second."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as hazelcast/hazelcast:5.3.8."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its members."""
        return numbered("hazelcast", None, CP_MEMBERS)

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a member whose sessions last as long as the TTL."""
        variables = {"FENCEPOST_HAZELCAST_SESSION": f"{self.ttl // NS['s']}"}
        return replace(super().started(server), variables=variables)


class KubernetesOfProgram(_ServersOfProgram):
    """The API server of Kubernetes, with an etcd, for the Leases of the program of [client]."""

    system: ClassVar[str] = "kubernetes"
    image: ClassVar[None] = None
    servers: ClassVar[tuple[str, ...]] = ("kubernetes-1",)

    kind: Literal["kubernetes"]
    ttl: LeaseTtl = DEFAULT_TTL
    """How long a Lease lasts without a renewal."""
    version: KubernetesRelease = "1.34.4"
    """The release to build from its source."""

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a server of the chosen release."""
        return replace(super().started(server), release=self.version)


class ProgramLockSection(_OfProgram, MayHaveEndpoints):
    """The lock that the program of [client] uses; no server is started for it."""

    system: ClassVar[str] = ""
    image: ClassVar[None] = None

    kind: Literal["client"]

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, if the target has their addresses."""
        return numbered("lock", self.running, 0)
