"""The lock services of a target file: one section per kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic.config import JsonDict

from harness.core.duration import NS
from harness.core.fields import STRICT, Duration
from harness.network.topology import REPLICA
from harness.target.fields import CLASS_PATTERN, LONGEST_TTL, VARIABLE_PATTERN, EtcdRelease, Image
from harness.target.kinds import models_by_kind, selected_by_kind
from harness.target.url import Url

SHORTEST_ETCD_TTL = 2 * NS["s"]
SHORTEST_TTL = 100 * NS["ms"]
SHORTEST_SESSION = NS["s"]
REDLOCK_SERVERS = 5


def _is_valid_for_etcd(ttl: int) -> int:
    if ttl < SHORTEST_ETCD_TTL:
        raise ValueError("must be at least 2s: etcd grants no shorter lease")
    if ttl % NS["s"]:
        raise ValueError("must be whole seconds, as etcd's leases are")
    return _is_at_most_an_hour(ttl)


def _is_whole_milliseconds(ttl: int) -> int:
    if ttl < SHORTEST_TTL:
        raise ValueError("must be at least 100ms")
    if ttl % NS["ms"]:
        raise ValueError("must be whole milliseconds")
    return _is_at_most_an_hour(ttl)


def _is_valid_for_zookeeper(ttl: int) -> int:
    if ttl < SHORTEST_SESSION:
        raise ValueError("must be at least 1s: a shorter session does not outlive its heartbeats")
    if ttl % NS["ms"]:
        raise ValueError("must be whole milliseconds")
    return _is_at_most_an_hour(ttl)


def _is_at_most_an_hour(ttl: int) -> int:
    if ttl > LONGEST_TTL:
        raise ValueError("must be at most 1h")
    return ttl


TWO_SECONDS: JsonDict = {"default": "2s"}


class EtcdLock(BaseModel):
    """etcd: a key created with a lease, if it is absent, in one transaction."""

    model_config = STRICT
    system: ClassVar[str] = "etcd"
    complete_at_once: ClassVar[None] = None

    kind: Literal["etcd"]
    nodes: Literal[1, 3, 5] = 3
    """Members of the cluster."""
    ttl: Annotated[Duration, AfterValidator(_is_valid_for_etcd)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a keep-alive."""
    token: Literal["create-revision"] = "create-revision"  # noqa: S105 - no password
    """The fencing token."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""
    version: EtcdRelease | None = None
    """A release to build from its source instead of running Debian's, such as 3.6.7."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(f"etcd-{number + 1}" for number in range(self.nodes))


class EtcdService(BaseModel):
    """etcd's own lock service: the server queues the waiting clients."""

    model_config = STRICT
    system: ClassVar[str] = "etcd"
    complete_at_once: ClassVar[None] = None

    kind: Literal["etcd-lock"]
    nodes: Literal[1, 3, 5] = 3
    """Members of the cluster."""
    ttl: Annotated[Duration, AfterValidator(_is_valid_for_etcd)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a keep-alive."""
    token: Literal["create-revision", "header-revision"] = "create-revision"  # noqa: S105 - no password
    """The fencing token; header-revision, of the answer, is a common mistake."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""
    version: EtcdRelease | None = None
    """A release to build from its source instead of running Debian's, such as 3.6.7."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(f"etcd-{number + 1}" for number in range(self.nodes))


class RedisLock(BaseModel):
    """Redis, one server: a key set if it is absent, with an expiry, in one script with the token."""

    model_config = STRICT
    system: ClassVar[str] = "redis"

    kind: Literal["redis"]
    ttl: Annotated[Duration, AfterValidator(_is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: Literal["counter"] = "counter"  # noqa: S105 - no password
    """The fencing token: a counter, incremented in the script that grants."""
    durable: bool = True
    """Every write is on disk before it is acknowledged; false: nothing is written to disk."""
    replica: bool = False
    """A second server, redis-replica, follows redis-1 and can replace it (fault "failover")."""
    wait_for_replica: bool = False
    """A grant or a renewal counts only once the replica has it (WAIT 1); needs replica."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as redis:8."""

    @model_validator(mode="after")
    def _has_a_replica_to_wait_for(self) -> Self:
        if self.wait_for_replica and not self.replica:
            raise ValueError("wait_for_replica needs a replica: set replica = true too")
        return self

    @property
    def complete_at_once(self) -> str | None:
        """The setting with which one answer grants and carries the token; None if it does not."""
        return None if self.wait_for_replica else 'lock.kind "redis" without wait_for_replica'

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers; clients speak to the first."""
        return ("redis-1", REPLICA) if self.replica else ("redis-1",)


class ZookeeperLock(BaseModel):
    """ZooKeeper: a queue of ephemeral sequential znodes; the first one holds the lock."""

    model_config = STRICT
    system: ClassVar[str] = "zookeeper"
    complete_at_once: ClassVar[None] = None

    kind: Literal["zookeeper"]
    nodes: Literal[1, 3, 5] = 3
    """Members of the ensemble."""
    ttl: Annotated[Duration, AfterValidator(_is_valid_for_zookeeper)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """The session's timeout: how long a grant lasts without a heartbeat."""
    token: Literal["czxid", "sequence"] = "czxid"  # noqa: S105 - no password
    """The fencing token: the transaction that created the znode, or (wrong) the number in its name,
    which starts again at 0 when the queue's parent is recreated."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as zookeeper:3.9."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(f"zookeeper-{number + 1}" for number in range(self.nodes))


class Redlock(BaseModel):
    """Redlock on five Redis servers, most of which must grant. It has no fencing token."""

    model_config = STRICT
    system: ClassVar[str] = "redis"

    kind: Literal["redlock"]
    ttl: Annotated[Duration, AfterValidator(_is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: Literal["highest-counter", "wall-clock", "random"]
    """The substitute for a fencing token; none of them is a correct one."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as redis:8."""

    @property
    def complete_at_once(self) -> str | None:
        """The setting with which one answer grants and carries the token; None if it does not."""
        return 'lock.token "highest-counter"' if self.token == "highest-counter" else None  # noqa: S105 - no password

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(f"redis-{number + 1}" for number in range(REDLOCK_SERVERS))


class KahunaLock(BaseModel):
    """Kahuna, one server, over its REST API: persistent locks."""

    model_config = STRICT
    system: ClassVar[str] = "kahuna"
    complete_at_once: ClassVar[str] = 'lock.kind "kahuna"'

    kind: Literal["kahuna"]
    ttl: Annotated[Duration, AfterValidator(_is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: Literal["fencing-token"] = "fencing-token"  # noqa: S105 - no password
    """The fencing token."""
    image: Image = "kahunakv/kahuna:latest"
    """The image to run: Fencepost does not build one."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("kahuna-1",)


class HttpLock(BaseModel):
    """Your own running lock service, which implements the contract of docs/http.md."""

    model_config = STRICT
    system: ClassVar[str] = ""
    servers: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[None] = None
    complete_at_once: ClassVar[str] = 'lock.kind "http"'

    kind: Literal["http"]
    url: Url
    """Where it listens, such as http://127.0.0.1:8420."""
    ttl: Annotated[Duration, AfterValidator(_is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """The length of the lease that clients request."""
    token: Literal["fencing-token"] = "fencing-token"  # noqa: S105 - no password
    """The fencing token."""


class OwnLock(BaseModel):
    """Your own class, as "package.module:Class"."""

    model_config = STRICT
    complete_at_once: ClassVar[None] = None

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["etcd", "redis", "zookeeper"] | None = None
    """The servers that Fencepost starts for it; without it, its servers, if any, are already running."""
    nodes: Annotated[int, Field(ge=1, le=5)] = 1
    """The number of servers: members of one etcd or ZooKeeper cluster, or independent Redis servers."""
    ttl: Annotated[Duration, AfterValidator(_is_at_most_an_hour)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the class."""
    password_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None = None
    """The environment variable with the password of its servers, passed to the class."""
    password_file: Annotated[str, Field(min_length=1)] | None = None
    """The file with that password, instead of a variable."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""

    @model_validator(mode="after")
    def _has_servers_to_count(self) -> Self:
        if self.server is None and {"nodes", "image"} & self.model_fields_set:
            raise ValueError("nodes and image are for servers that Fencepost starts: set server too")
        if self.server in ("etcd", "zookeeper") and self.nodes not in (1, 3):
            raise ValueError(f"nodes must be 1 or 3 for {self.server}")
        return self

    @property
    def system(self) -> str:
        """The system of its servers."""
        return self.server or ""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(f"{self.server}-{number + 1}" for number in range(self.nodes)) if self.server else ()


class ProgramLock(BaseModel):
    """The lock that the program of [client] uses; no server is started for it."""

    model_config = STRICT
    system: ClassVar[str] = ""
    complete_at_once: ClassVar[None] = None
    image: ClassVar[None] = None
    servers: ClassVar[tuple[str, ...]] = ()

    kind: Literal["client"]
    ttl: Annotated[Duration, AfterValidator(_is_whole_milliseconds)] = Field(
        2 * NS["s"], json_schema_extra=TWO_SECONDS
    )
    """How long a grant lasts without a renewal."""
    token: str = ""
    """The choice of the fencing token, passed to the program."""
    password_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None = None
    """The environment variable with the password of its servers, passed to the program."""
    password_file: Annotated[str, Field(min_length=1)] | None = None
    """The file with that password, instead of a variable."""


AnyLock = (
    EtcdLock
    | EtcdService
    | HttpLock
    | KahunaLock
    | RedisLock
    | Redlock
    | ZookeeperLock
    | ProgramLock
    | OwnLock
)
LOCKS: dict[str, type[AnyLock]] = models_by_kind(AnyLock)

if TYPE_CHECKING:
    LockSpec = AnyLock
else:
    LockSpec = selected_by_kind(AnyLock)
