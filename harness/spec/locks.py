"""The lock services of a target file: one section per kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from harness.spec import own_locks, redis_locks
from harness.spec.attached import MayRunAlready, numbered
from harness.spec.fields import (
    DEFAULT_TTL,
    EtcdTtl,
    Image,
    MillisecondsTtl,
    SessionTtl,
    ZookeeperTtl,
    models_by_kind,
    selected_by_kind,
)
from harness.spec.sides import LimitedMemory, LockSide
from harness.spec.systems import OfEtcd, OfHttp, OfMariadb, OfNats, OfS3, OfZookeeper
from workloads.settings import (
    KahunaLockSettings,
    LockSettings,
    Login,
    S3LockSettings,
    SqlLeaseSettings,
)

NATS_SERVERS = 3
LOCK_FILE = "lock.db"  # in the run's folder, for a lock that is a file


class _InEtcd(LockSide, OfEtcd):
    complete_at_once: ClassVar[None] = None
    is_key_in_etcd: ClassVar[bool] = True

    nodes: Literal[1, 3, 5] = 3
    """Members of the cluster."""
    ttl: EtcdTtl = DEFAULT_TTL
    """How long a grant lasts without a keep-alive."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return numbered("etcd", self.running, self.nodes)


class EtcdLockSection(_InEtcd):
    """etcd: a key created with a lease, if it is absent, in one transaction."""

    kind: Literal["etcd"]
    token: Literal["create-revision", "none"] = "create-revision"  # noqa: S105 - no password
    """The fencing token; none: your program's lock gives none."""


class EtcdServiceSection(_InEtcd):
    """etcd's own lock service: the server queues the waiting clients."""

    kind: Literal["etcd-lock"]
    token: Literal["create-revision", "header-revision", "none"] = "create-revision"  # noqa: S105 - no password
    """The fencing token; header-revision, of the answer, is a common mistake; none: your program's lock gives
    none."""


class ZookeeperLockSection(LockSide, OfZookeeper):
    """ZooKeeper: a queue of ephemeral sequential znodes; the first one holds the lock."""

    complete_at_once: ClassVar[None] = None

    kind: Literal["zookeeper"]
    nodes: Literal[1, 3, 5] = 3
    """Members of the ensemble."""
    ttl: ZookeeperTtl = DEFAULT_TTL
    """The session's timeout: how long a grant lasts without a heartbeat."""
    token: Literal["czxid", "sequence", "none"] = "czxid"  # noqa: S105 - no password
    """The fencing token: the transaction that created the znode, or (wrong) the number in its name,
    which starts again at 0 when the queue's parent is recreated; none: your program's lock gives none."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return numbered("zookeeper", self.running, self.nodes)


class S3LockSection(LockSide, OfS3):
    """S3: an object with an owner, an epoch and an expiry, put on the condition that it is unchanged."""

    complete_at_once: ClassVar[str] = 'lock.kind "s3"'

    kind: Literal["s3"]
    nodes: Literal[1, 2] = 1
    """Gateways of versitygw over one directory: clients use the first and the second in turn."""
    token: Literal["epoch", "none"] = "epoch"  # noqa: S105 - no password
    """The fencing token: the epoch in the object, one more with each grant; none: your program's lock gives
    none."""

    @model_validator(mode="after")
    def _has_a_directory_to_share(self) -> Self:
        if self.nodes > 1 and not self.version:
            raise ValueError("two nodes need a release of versitygw, which stores files: set version too")
        return self

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return numbered("s3", self.running, self.nodes)

    def settings(self, **shared: Any) -> LockSettings:
        """Return what a client gets."""
        return S3LockSettings(**shared, bucket=self.where)


class GetLockSection(LockSide, OfMariadb):
    """MariaDB's GET_LOCK: bound to the session, which ends once it was idle for the TTL."""

    complete_at_once: ClassVar[str] = 'lock.kind "get-lock"'
    servers: ClassVar[tuple[str, ...]] = ("mariadb-1",)

    kind: Literal["get-lock"]
    ttl: SessionTtl = DEFAULT_TTL
    """How long a session may be idle (wait_timeout)."""
    token: Literal["counter", "none"] = "counter"  # noqa: S105 - no password
    """The fencing token: a counter in a table, raised by the statement that gets the lock; none: your
    program's lock gives none."""


class SqlLeaseSection(LockSide, MayRunAlready):
    """A row with an owner, a token and an expiry, by the clock of the database."""

    most_running: ClassVar[int] = 1
    needs_user: ClassVar[bool] = True
    may_trust_user: ClassVar[bool] = True
    shows_password: ClassVar[str] = ", if the server asks for it so"  # noqa: S105 - by default, it asks for proof
    complete_at_once: ClassVar[str] = 'lock.kind "sql-lease"'

    kind: Literal["sql-lease"]
    system: Literal["mariadb", "postgres", "sqlite"]
    """The database with the row."""
    token: Literal["counter", "none"] = "counter"  # noqa: S105 - no password
    """The fencing token: in the row, one more with each grant; none: your program's lock gives none."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""
    database: Annotated[str, Field(min_length=1)] | None = None
    """postgres: the database on a server that already runs; without it, the one named like the user."""

    @model_validator(mode="after")
    def _has_a_server(self) -> Self:
        of_servers = {"running", "image", "memory"} & self.model_fields_set
        if self.system == "sqlite" and of_servers:
            raise ValueError(
                "sqlite is a file in the run's folder, without a server: remove servers, image, memory"
            )
        if self.database and self.system != "postgres":
            raise ValueError('database is for system = "postgres": remove it')
        return self

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server; none for a file."""
        return () if self.system == "sqlite" else (f"{self.system}-1",)

    def endpoints(self, servers: Iterable[str], folder: Path) -> tuple[str, ...]:
        """Return its server, or its file."""
        return tuple(servers) if self.servers else (str(folder.resolve() / LOCK_FILE),)

    def login(self, password: str, host: str) -> Login:
        """Return how to log in to the database of a server that already runs."""
        login = super().login(password, host)
        return replace(login, database=self.database or login.user)

    def settings(self, **shared: Any) -> LockSettings:
        """Return what a client gets."""
        return SqlLeaseSettings(**shared, system=self.system)


class KahunaLockSection(LockSide, LimitedMemory):
    """Kahuna, one server, over its REST API."""

    system: ClassVar[str] = "kahuna"
    complete_at_once: ClassVar[str] = 'lock.kind "kahuna"'
    servers: ClassVar[tuple[str, ...]] = ("kahuna-1",)

    kind: Literal["kahuna"]
    token: Literal["fencing-token", "none"] = "fencing-token"  # noqa: S105 - no password
    """The fencing token; none: your program's lock gives none."""
    durability: Literal["persistent", "ephemeral"] = "persistent"
    """What a lock outlives: a persistent one and its counter, a kill of the server; an ephemeral one, which
    Kahuna makes if a request does not say, nothing."""
    image: Image = "kahunakv/kahuna:latest"
    """The image to run: Fencepost does not build one."""

    def settings(self, **shared: Any) -> LockSettings:
        """Return what a client gets."""
        return KahunaLockSettings(**shared, is_ephemeral=self.durability == "ephemeral")


class NatsLockSection(LockSide, OfNats):
    """NATS JetStream: a key of a bucket, updated on the condition of its revision."""

    complete_at_once: ClassVar[str] = 'lock.kind "nats"'

    kind: Literal["nats"]
    token: Literal["revision", "none"] = "revision"  # noqa: S105 - no password
    """The fencing token: the revision of the grant; none: your program's lock gives none."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return numbered("nats", self.running, NATS_SERVERS)


class HttpLockSection(OfHttp, LockSide):
    """Your own running lock service, which implements the contract of docs/http.md."""

    complete_at_once: ClassVar[str] = 'lock.kind "http"'

    kind: Literal["http"]
    ttl: MillisecondsTtl = DEFAULT_TTL
    """The length of the lease that clients request."""
    token: Literal["fencing-token", "none"] = "fencing-token"  # noqa: S105 - no password
    """The fencing token; none: the service gives none."""


AnyLock = (
    EtcdLockSection
    | EtcdServiceSection
    | GetLockSection
    | HttpLockSection
    | KahunaLockSection
    | NatsLockSection
    | redis_locks.RedisLockSection
    | redis_locks.RedlockSection
    | S3LockSection
    | SqlLeaseSection
    | ZookeeperLockSection
    | own_locks.ServerOfProgram
    | own_locks.HazelcastOfProgram
    | own_locks.KubernetesOfProgram
    | own_locks.PgbouncerOfProgram
    | own_locks.ProgramLockSection
    | own_locks.OwnLockSection
)
LOCKS: dict[str, type[AnyLock]] = models_by_kind(AnyLock)

if TYPE_CHECKING:
    LockSpec = AnyLock
else:
    LockSpec = selected_by_kind(AnyLock)
