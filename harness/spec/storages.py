"""The storages of a target file: one section per kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from harness.core.fields import STRICT
from harness.network.topology import STANDBY
from harness.spec.attached import MayHaveEndpoints, MayRunAlready, names, numbered
from harness.spec.fields import CLASS_PATTERN, EtcdRelease, Image, Memory
from harness.spec.kinds import models_by_kind, selected_by_kind
from harness.spec.url import Url

Policy = Literal["strict", "inclusive"]
Replication = Literal["asynchronous", "synchronous"]
REPLICATION_NEEDS_OUR_IMAGE = "replication needs Fencepost's own image of PostgreSQL"


class Storage(BaseModel):
    """The settings that all storages have."""

    model_config = STRICT

    kind: str
    policy: Policy = "strict"
    """strict accepts token > mark (one write per token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; only with the policy inclusive."""


class PostgresStorage(Storage, MayRunAlready):
    """PostgreSQL: one row per resource."""

    system: ClassVar[str] = "postgres"

    kind: Literal["postgres"]
    fencing: Literal["none", "conditional-update", "select-for-update", "upsert"]
    """How a stale write is refused; none: it is not."""
    replication: Replication | None = None
    """A second server, postgres-standby, follows postgres and can replace it (fault "failover").
    synchronous: a commit waits until the standby has it; asynchronous: it does not."""
    manager: Literal["patroni"] | None = None
    """What decides which of the two leads, over the lock's etcd; without it, nothing does."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""
    database: Annotated[str, Field(min_length=1)] | None = None
    """The database to use on a server that already runs; without it, the one named like the user."""

    @model_validator(mode="after")
    def _replicates_with_our_image(self) -> Self:
        if self.replication and self.image:
            raise ValueError(f"{REPLICATION_NEEDS_OUR_IMAGE}: remove image")
        if self.manager and not self.replication:
            raise ValueError(
                f'manager "{self.manager}" needs a standby: set replication = "asynchronous" or "synchronous"'
            )
        return self

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers; clients speak to the first."""
        return ("postgres", STANDBY) if self.replication else ("postgres",)

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write take one message, so that no stopped client can hold a transaction open?"""
        return self.fencing != "select-for-update"


class EtcdStorage(Storage, MayRunAlready):
    """etcd: one key per resource, which holds the mark and the value."""

    system: ClassVar[str] = "etcd"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["etcd"]
    fencing: Literal["none", "transaction", "lock-key"]
    """How a stale write is refused: transaction compares and puts; lock-key shares the lock's etcd, and
    accepts a write only while the key of its lock exists; none: it is not."""
    round_robin: bool = False
    """Each call goes to the next member, as those of etcd's own clients do; so a holder reads through another
    member than it has written to. Without it, only a call without an answer moves a client on."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""
    version: EtcdRelease | None = None
    """A release to build from its source instead of running Debian's, such as 3.6.7."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server; none with lock-key."""
        return () if self.is_in_the_lock else names("etcd-storage", self.running)

    @property
    def is_in_the_lock(self) -> bool:
        """Does it share the lock's servers?"""
        return self.fencing == "lock-key"


class RedisStorage(Storage, MayRunAlready):
    """Redis: one hash per resource, with the mark and the value."""

    system: ClassVar[str] = "redis"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["redis"]
    fencing: Literal["none", "script"]
    """How a stale write is refused: a script compares and writes; none: it is not."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as redis:8."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("redis-storage",)


class ZookeeperStorage(Storage, MayRunAlready):
    """ZooKeeper: one znode per resource, with the mark and the value."""

    system: ClassVar[str] = "zookeeper"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["zookeeper"]
    fencing: Literal["none", "version-check"]
    """How a stale write is refused: read the mark, compare, and write if its version has not changed;
    none: it is not."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as zookeeper:3.9."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return names("zookeeper-storage", self.running)


class DynamodbStorage(Storage, MayRunAlready):
    """DynamoDB Local: one item per resource, created by its first write."""

    system: ClassVar[str] = "dynamodb"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["dynamodb"]
    fencing: Literal["none", "conditional-expression"]
    """How a stale write is refused: the update has a condition; none: it is not."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as amazon/dynamodb-local:2.6.1."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("dynamodb",)


class SqliteStorage(Storage):
    """SQLite: one row per resource, in a file in the run's folder."""

    system: ClassVar[str] = "sqlite"
    writes_in_one_message: ClassVar[bool] = False  # a client between UPDATE and COMMIT locks the file
    servers: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[None] = None

    kind: Literal["sqlite"]
    fencing: Literal["none", "conditional-update"]
    """How a stale write is refused; none: it is not."""


SERVERS_OF_STORAGES = {
    "dynamodb": "dynamodb",
    "etcd": "etcd-storage",
    "postgres": "postgres",
    "redis": "redis-storage",
    "zookeeper": "zookeeper-storage",
}
"""The name of each system's server as a storage."""


class OwnStorage(Storage, MayHaveEndpoints):
    """Your own class, as "package.module:Class"."""

    writes_in_one_message: ClassVar[bool] = True

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["dynamodb", "etcd", "postgres", "redis", "zookeeper"] | None = None
    """The servers that Fencepost starts for it; without it, its servers, if any, are already running."""
    fencing: str
    """"none" if every write is accepted; any other text is passed to the class."""
    replication: Replication | None = None
    """With server = "postgres": a second server, postgres-standby, follows it, as for kind = "postgres"."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""
    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""

    @model_validator(mode="after")
    def _replicates_postgres(self) -> Self:
        if self.memory and not self.server:
            raise ValueError("memory is for servers that Fencepost starts: set server too")
        if self.replication and self.server != "postgres":
            raise ValueError('replication needs server = "postgres"')
        if self.replication and self.image:
            raise ValueError(f"{REPLICATION_NEEDS_OUR_IMAGE}: remove image")
        return self

    @property
    def system(self) -> str:
        """The system of its server."""
        return self.server or ""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, if any."""
        first = (SERVERS_OF_STORAGES[self.server],) if self.server else numbered("storage", self.running, 0)
        return (*first, STANDBY) if self.replication else first


class HttpStorage(Storage):
    """Your own running storage, which implements the contract of docs/http.md."""

    system: ClassVar[str] = ""
    servers: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[None] = None
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["http"]
    url: Url
    """Where it listens, such as http://127.0.0.1:8420."""
    fencing: Literal["none", "service"]
    """service: it refuses stale writes; none: it does not."""


class ProgramStorage(Storage, MayHaveEndpoints):
    """The storage that the program of [client] uses; no server is started for it."""

    system: ClassVar[str] = ""
    image: ClassVar[None] = None
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["client"]
    fencing: str
    """"none" if every write is accepted; any other text is passed to the program."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, if the target has their addresses."""
        return numbered("storage", self.running, 0)


AnyStorage = (
    DynamodbStorage
    | EtcdStorage
    | HttpStorage
    | PostgresStorage
    | RedisStorage
    | SqliteStorage
    | ZookeeperStorage
    | ProgramStorage
    | OwnStorage
)
STORAGES: dict[str, type[AnyStorage]] = models_by_kind(AnyStorage)

if TYPE_CHECKING:
    StorageSpec = AnyStorage
else:
    StorageSpec = selected_by_kind(AnyStorage)
