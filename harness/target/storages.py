"""The storages of a target file, one section a kind."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from harness.core.fields import STRICT
from harness.target.fields import CLASS_PATTERN, OWN, PROGRAM, VARIABLE_PATTERN, Image, kind_of
from harness.target.url import Url

Policy = Literal["strict", "inclusive"]


class PostgresStorage(BaseModel):
    """PostgreSQL: one row a resource."""

    model_config = STRICT
    system: ClassVar[str] = "postgres"

    kind: Literal["postgres"]
    fencing: Literal["none", "conditional-update", "select-for-update", "upsert"]
    """How a write with a stale token is kept out; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("postgres",)

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write travel as a whole, so that a client stopped after sending holds nothing open?"""
        return self.fencing != "select-for-update"


class EtcdStorage(BaseModel):
    """etcd: one key a resource, which holds the mark and the value."""

    model_config = STRICT
    system: ClassVar[str] = "etcd"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["etcd"]
    fencing: Literal["none", "transaction", "lock-key"]
    """How a write with a stale token is kept out: a transaction compares and puts; lock-key: it is in the
    lock's own etcd, and accepts a write while the key of its lock is there; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server; with lock-key it has none of its own."""
        return () if self.is_in_the_lock else ("etcd-storage",)

    @property
    def is_in_the_lock(self) -> bool:
        """Are its servers those of the lock?"""
        return self.fencing == "lock-key"


class RedisStorage(BaseModel):
    """Redis: one hash a resource, with the mark beside the value."""

    model_config = STRICT
    system: ClassVar[str] = "redis"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["redis"]
    fencing: Literal["none", "script"]
    """How a write with a stale token is kept out: a script compares and writes; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as redis:8."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("redis-storage",)


class ZookeeperStorage(BaseModel):
    """ZooKeeper: one znode a resource, with the mark beside the value."""

    model_config = STRICT
    system: ClassVar[str] = "zookeeper"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["zookeeper"]
    fencing: Literal["none", "version-check"]
    """How a write with a stale token is kept out: read the mark, compare, and write if its version is
    still the same; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as zookeeper:3.9."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("zookeeper-storage",)


class DynamodbStorage(BaseModel):
    """DynamoDB Local: one item a resource, which the first write makes."""

    model_config = STRICT
    system: ClassVar[str] = "dynamodb"
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["dynamodb"]
    fencing: Literal["none", "conditional-expression"]
    """How a write with a stale token is kept out: the update has a condition; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as amazon/dynamodb-local:2.6.1."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return ("dynamodb",)


class SqliteStorage(BaseModel):
    """SQLite: one row a resource, in a file of the run's folder."""

    model_config = STRICT
    system: ClassVar[str] = "sqlite"
    writes_in_one_message: ClassVar[bool] = False  # whoever is between UPDATE and COMMIT locks the file
    servers: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[None] = None

    kind: Literal["sqlite"]
    fencing: Literal["none", "conditional-update"]
    """How a write with a stale token is kept out; none: it is not."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""


SERVERS_OF_STORAGES = {
    "dynamodb": "dynamodb",
    "etcd": "etcd-storage",
    "postgres": "postgres",
    "redis": "redis-storage",
    "zookeeper": "zookeeper-storage",
}
"""The name of the server that each system has as a storage."""


class OwnStorage(BaseModel):
    """A class of your own, named as "package.module:Class"."""

    model_config = STRICT
    writes_in_one_message: ClassVar[bool] = True

    kind: Annotated[str, Field(pattern=CLASS_PATTERN)]
    server: Literal["dynamodb", "etcd", "postgres", "redis", "zookeeper"] | None = None
    """What Fencepost starts for it; without, its servers, if it has any, run already."""
    fencing: str
    """"none" if every write is accepted; anything else is handed to the class."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""
    password_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None = None
    """The environment variable with the password of its servers: given to the class."""
    password_file: Annotated[str, Field(min_length=1)] | None = None
    """The file with that password, in place of a variable."""
    image: Image | None = None
    """An image to run instead of Fencepost's own."""

    @property
    def system(self) -> str:
        """The system of its server."""
        return self.server or ""

    @property
    def servers(self) -> tuple[str, ...]:
        """The name of its server."""
        return (SERVERS_OF_STORAGES[self.server],) if self.server else ()


class HttpStorage(BaseModel):
    """A storage of your own, which runs already and keeps the contract of docs/http.md."""

    model_config = STRICT
    system: ClassVar[str] = ""
    servers: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[None] = None
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["http"]
    url: Url
    """Where it listens, such as http://127.0.0.1:8420."""
    fencing: Literal["none", "service"]
    """service: it refuses a write with a stale token; none: it does not."""
    policy: Policy = "strict"
    """What it accepts: strict, token > mark (one write a token); inclusive, token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""


class ProgramStorage(BaseModel):
    """Whatever the program of [client] uses as a storage; no server is started for it."""

    model_config = STRICT
    system: ClassVar[str] = ""
    image: ClassVar[None] = None
    servers: ClassVar[tuple[str, ...]] = ()
    writes_in_one_message: ClassVar[bool] = True

    kind: Literal["client"]
    fencing: str
    """"none" if every write is accepted; anything else is handed to the program."""
    password_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None = None
    """The environment variable with the password of its servers: given to the program."""
    password_file: Annotated[str, Field(min_length=1)] | None = None
    """The file with that password, in place of a variable."""
    policy: Policy = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; with the policy inclusive only."""


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
STORAGES: dict[str, type[AnyStorage]] = {
    "dynamodb": DynamodbStorage,
    "etcd": EtcdStorage,
    "http": HttpStorage,
    "postgres": PostgresStorage,
    "redis": RedisStorage,
    "sqlite": SqliteStorage,
    "zookeeper": ZookeeperStorage,
    PROGRAM: ProgramStorage,
    OWN: OwnStorage,
}
StorageSpec = Annotated[
    Annotated[DynamodbStorage, Tag("dynamodb")]
    | Annotated[EtcdStorage, Tag("etcd")]
    | Annotated[HttpStorage, Tag("http")]
    | Annotated[PostgresStorage, Tag("postgres")]
    | Annotated[RedisStorage, Tag("redis")]
    | Annotated[SqliteStorage, Tag("sqlite")]
    | Annotated[ZookeeperStorage, Tag("zookeeper")]
    | Annotated[ProgramStorage, Tag(PROGRAM)]
    | Annotated[OwnStorage, Tag(OWN)],
    Discriminator(kind_of),
]
