"""The storages of a target file: one section per kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from harness.network.topology import STANDBY, ServerSpec
from harness.spec.attached import MayHaveEndpoints, MayRunAlready, names, numbered
from harness.spec.fields import CLASS_PATTERN, Image, models_by_kind, selected_by_kind
from harness.spec.mariadb_storage import MariadbStorageSection
from harness.spec.sides import LimitedMemory, StorageSide
from harness.spec.systems import OfEtcd, OfHttp, OfRedis, OfS3, OfZookeeper
from workloads.settings import EtcdStorageSettings, Login, S3StorageSettings, StorageSettings

STORAGE_FILE = "storage.db"  # in the run's folder, for a storage that is a file
Replication = Literal["asynchronous", "synchronous"]
REPLICATION_NEEDS_OUR_IMAGE = "replication needs Fencepost's own image of PostgreSQL"


class PostgresStorageSection(StorageSide, MayRunAlready):
    """PostgreSQL: one row per resource."""

    system: ClassVar[str] = "postgres"
    most_running: ClassVar[int] = 1
    needs_user: ClassVar[bool] = True
    may_trust_user: ClassVar[bool] = True  # as pg_hba.conf says
    shows_password: ClassVar[str] = ", if the server asks for it so"  # noqa: S105 - by default, it asks for proof

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

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return the primary or the standby of two servers, or a server alone."""
        server = _replicating(super().started(server), self.replication)
        return replace(server, manager=self.manager or "")

    def login(self, password: str, host: str) -> Login:
        """Return how to log in to the database of a server that already runs."""
        login = super().login(password, host)
        return replace(login, database=self.database or login.user)


class EtcdStorageSection(StorageSide, OfEtcd):
    """etcd: one key per resource, which holds the mark and the value."""

    kind: Literal["etcd"]
    fencing: Literal["none", "transaction", "lock-key"]
    """How a stale write is refused: transaction compares and puts; lock-key shares the lock's etcd, and
    accepts a write only while the key of its lock exists; none: it is not."""
    round_robin: bool = False
    """Each call goes to the next member, as those of etcd's own clients do; so a holder reads through another
    member than it has written to. Without it, only a call without an answer moves a client on."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server; none with lock-key."""
        return () if self.is_in_the_lock else names("etcd-storage", self.running)

    @property
    def is_in_the_lock(self) -> bool:
        """Does it share the lock's servers?"""
        return self.fencing == "lock-key"

    @property
    def changes_servers(self) -> bool:
        """Does each call go to the next server?"""
        return self.round_robin

    def settings(self, **shared: Any) -> StorageSettings:
        """Return what a client gets."""
        return EtcdStorageSettings(**shared, round_robin=self.round_robin)


class RedisStorageSection(StorageSide, OfRedis):
    """Redis: one hash per resource, with the mark and the value."""

    most_running: ClassVar[int] = 1
    servers: ClassVar[tuple[str, ...]] = ("redis-storage",)

    kind: Literal["redis"]
    fencing: Literal["none", "script"]
    """How a stale write is refused: a script compares and writes; none: it is not."""


class ZookeeperStorageSection(StorageSide, OfZookeeper):
    """ZooKeeper: one znode per resource, with the mark and the value."""

    kind: Literal["zookeeper"]
    fencing: Literal["none", "version-check"]
    """How a stale write is refused: read the mark, compare, and write if its version has not changed;
    none: it is not."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return names("zookeeper-storage", self.running)


class DynamodbStorageSection(StorageSide, MayRunAlready):
    """DynamoDB Local: one item per resource, created by its first write."""

    system: ClassVar[str] = "dynamodb"
    most_running: ClassVar[int] = 1
    shows_password: ClassVar[None] = None  # its requests carry a signature
    servers: ClassVar[tuple[str, ...]] = ("dynamodb",)

    kind: Literal["dynamodb"]
    fencing: Literal["none", "conditional-expression"]
    """How a stale write is refused: the update has a condition; none: it is not."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as amazon/dynamodb-local:2.6.1."""


class S3StorageSection(StorageSide, OfS3):
    """S3: one object per resource, created by its first write; its versions are the order of writes."""

    servers: ClassVar[tuple[str, ...]] = ("s3",)

    kind: Literal["s3"]
    fencing: Literal["none", "if-match", "epoch-object"]
    """How a stale write is refused: if-match reads the mark in the object, compares, and puts if the ETag has
    not changed; epoch-object (wrong) has the mark in another object; none: it is not."""

    @model_validator(mode="after")
    def _fences_in_the_object(self) -> Self:
        if self.fence_on_acquire and self.fencing == "epoch-object":
            raise ValueError('fence_on_acquire needs the mark in the object: set fencing = "if-match"')
        return self

    @model_validator(mode="after")
    def _knows_the_order_of_its_versions(self) -> Self:
        """Refuse a server that makes a version's id, from its clock, before it waits to store the object."""
        if self.version and self.fencing != "if-match":
            raise ValueError(
                'version needs fencing = "if-match": versitygw may list overlapping writes without a '
                "condition in another order than it accepted them"
            )
        return self

    @property
    def order_survives_kill(self) -> bool:
        """Does a killed server still know the versions after its restart? gofakes3 has them in memory."""
        return self.version is not None

    def settings(self, **shared: Any) -> StorageSettings:
        """Return what a client gets."""
        return S3StorageSettings(**shared, bucket=self.where)


class SqliteStorageSection(StorageSide):
    """SQLite: one row per resource, in a file in the run's folder."""

    system: ClassVar[str] = "sqlite"
    writes_in_one_message: ClassVar[bool] = False  # a client between UPDATE and COMMIT locks the file
    servers: ClassVar[tuple[str, ...]] = ()
    has_servers: ClassVar[bool] = False
    image: ClassVar[None] = None

    kind: Literal["sqlite"]
    fencing: Literal["none", "conditional-update"]
    """How a stale write is refused; none: it is not."""

    def endpoints(self, servers: Iterable[str], folder: Path) -> tuple[str, ...]:  # noqa: ARG002 - as its base
        """Return its file."""
        return (str(folder.resolve() / STORAGE_FILE),)


SERVERS_OF_STORAGES = {
    "dynamodb": "dynamodb",
    "etcd": "etcd-storage",
    "mariadb": "mariadb",
    "postgres": "postgres",
    "redis": "redis-storage",
    "s3": "s3",
    "zookeeper": "zookeeper-storage",
}
"""The name of each system's server as a storage."""


class OwnStorageSection(StorageSide, MayHaveEndpoints, LimitedMemory):
    """Your own class, as "package.module:Class"."""

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["dynamodb", "etcd", "mariadb", "postgres", "redis", "s3", "zookeeper"] | None = None
    """The servers that Fencepost starts for it; without it, its servers, if any, are already running."""
    fencing: str
    """"none" if every write is accepted; any other text is passed to the class."""
    replication: Replication | None = None
    """With server = "postgres": a second server, postgres-standby, follows it, as for kind = "postgres"."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""

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

    @property
    def order_survives_kill(self) -> bool:
        """Does a killed server still know the order of its writes after its restart? gofakes3 forgets all."""
        return self.server != "s3"

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return the primary or the standby of two servers, or a server alone."""
        return _replicating(super().started(server), self.replication)


class HttpStorageSection(OfHttp, StorageSide):
    """Your own running storage, which implements the contract of docs/http.md."""

    kind: Literal["http"]
    fencing: Literal["none", "service"]
    """service: it refuses stale writes; none: it does not."""


class ProgramStorageSection(StorageSide, MayHaveEndpoints):
    """The storage that the program of [client] uses; no server is started for it."""

    system: ClassVar[str] = ""
    image: ClassVar[None] = None

    kind: Literal["client"]
    fencing: str
    """"none" if every write is accepted; any other text is passed to the program."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, if the target has their addresses."""
        return numbered("storage", self.running, 0)


def _replicating(server: ServerSpec, replication: Replication | None) -> ServerSpec:
    return replace(server, synchronous=replication == "synchronous" and not server.follows)


AnyStorage = (
    DynamodbStorageSection
    | EtcdStorageSection
    | HttpStorageSection
    | MariadbStorageSection
    | PostgresStorageSection
    | RedisStorageSection
    | S3StorageSection
    | SqliteStorageSection
    | ZookeeperStorageSection
    | ProgramStorageSection
    | OwnStorageSection
)
STORAGES: dict[str, type[AnyStorage]] = models_by_kind(AnyStorage)

if TYPE_CHECKING:
    StorageSpec = AnyStorage
else:
    StorageSpec = selected_by_kind(AnyStorage)
