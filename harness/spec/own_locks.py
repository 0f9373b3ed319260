"""The locks that the user brings, as a class or with a program, and the servers to start for them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from harness.core.duration import NS
from harness.core.fields import STRICT, Duration
from harness.spec.attached import MayHaveEndpoints, numbered
from harness.spec.fields import CLASS_PATTERN, Image, Memory
from harness.spec.ttls import (
    TWO_SECONDS,
    is_at_most_an_hour,
    is_valid_for_hazelcast,
    is_whole_milliseconds,
)

CP_MEMBERS = 3


class OwnLock(MayHaveEndpoints):
    """Your own class, as "package.module:Class"."""

    complete_at_once: ClassVar[None] = None

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["dynamodb", "etcd", "postgres", "redis", "zookeeper"] | None = None
    """The servers that Fencepost starts for it; without it, its servers, if any, are already running."""
    nodes: Annotated[int, Field(ge=1, le=5)] = 1
    """The number of servers: members of one etcd or ZooKeeper cluster, or independent Redis servers."""
    ttl: Annotated[Duration, AfterValidator(is_at_most_an_hour)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the class; none: its lock gives none."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""
    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""

    @model_validator(mode="after")
    def _has_servers_to_count(self) -> Self:
        if self.server is None and {"nodes", "image", "memory"} & self.model_fields_set:
            raise ValueError("nodes, image and memory are for servers that Fencepost starts: set server too")
        if self.server in ("etcd", "zookeeper") and self.nodes not in (1, 3):
            raise ValueError(f"nodes must be 1 or 3 for {self.server}")
        if self.server in ("dynamodb", "postgres") and self.nodes != 1:
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


class ServerOfProgram(BaseModel):
    """A server for the lock of the program of [client]; Fencepost has no lock of its own on it."""

    model_config = STRICT
    complete_at_once: ClassVar[None] = None

    kind: Literal["dynamodb", "postgres"]
    ttl: Annotated[Duration, AfterValidator(is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the program; none: its lock gives none."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""
    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""

    @property
    def system(self) -> str:
        """The system of its server."""
        return self.kind

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return numbered(self.kind, None, 1)


class PgbouncerOfProgram(BaseModel):
    """PostgreSQL behind PgBouncer in transaction mode, for the lock of the program of [client]."""

    model_config = STRICT
    system: ClassVar[str] = "pgbouncer"
    image: ClassVar[str] = "fencepost/postgres"  # official images have no PgBouncer
    servers: ClassVar[tuple[str, ...]] = ("pgbouncer-1",)
    complete_at_once: ClassVar[None] = None

    kind: Literal["pgbouncer"]
    ttl: Annotated[Duration, AfterValidator(is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the program; none: its lock gives none."""
    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""


class HazelcastOfProgram(BaseModel):
    """Hazelcast for the lock of the program of [client]: three members of the CP subsystem, in memory."""

    model_config = STRICT
    system: ClassVar[str] = "hazelcast"
    complete_at_once: ClassVar[None] = None

    kind: Literal["hazelcast"]
    ttl: Annotated[Duration, AfterValidator(is_valid_for_hazelcast)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a CP session lasts without a heartbeat, which clients send each second."""
    token: str = ""
    """The choice of the fencing token, passed to the program; none: its lock gives none."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as hazelcast/hazelcast:5.3.8."""
    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its members."""
        return numbered("hazelcast", None, CP_MEMBERS)


SERVERS_OF_PROGRAMS = (HazelcastOfProgram, PgbouncerOfProgram, ServerOfProgram)
"""The kinds that have no lock of Fencepost's own, only servers."""


class ProgramLock(MayHaveEndpoints):
    """The lock that the program of [client] uses; no server is started for it."""

    system: ClassVar[str] = ""
    complete_at_once: ClassVar[None] = None
    image: ClassVar[None] = None

    kind: Literal["client"]
    ttl: Annotated[Duration, AfterValidator(is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the program; none: its lock gives none."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, if the target has their addresses."""
        return numbered("lock", self.running, 0)
