"""The settings of a client: its servers, and the options of its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REDIS_ADMINISTRATOR = "fencepost"
"""The Redis user that may change replication and persistence, on servers with a password."""

SENTINEL_SERVICE = "fencepost"
"""The name by which sentinels know the primary that they watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """What a client needs to speak TLS to a server itself."""

    ca_file: str  # its certificate authority
    cert_file: str = ""  # what clients show it, and the key of that; "": nothing
    key_file: str = ""
    host: str = ""  # the host in its certificate; "": the one that the client connects to


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How a client identifies itself to a server."""

    password: str = field(default="", repr=False, compare=False)  # "": the server asks for none
    user: str = ""  # whose password that is; "": the one of servers that Fencepost starts
    database: str = ""  # the one to use there; "": the one named like the user
    ticket: str = field(default="", repr=False, compare=False)  # of a login that was made for all clients
    tls: Tls | None = None  # None: what the client connects to speaks no TLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a client finds the servers of one side, and how it reaches them."""

    kind: str
    endpoints: tuple[
        str, ...
    ]  # host:port of each server, through this client's own edges; or a URL, or a file
    timeout: float  # seconds; of each call
    run: str = ""  # names the run, to a service that outlives it
    names: str = (
        ""  # is in every name of this run, on servers that other runs use as well; "": they are its own
    )
    login: Login = Login()

    @property
    def password(self) -> str:
        """The password that the servers ask for; "" if they ask for none."""
        return self.login.password

    @property
    def user(self) -> str:
        """The user whose password that is; "" on servers that Fencepost starts."""
        return self.login.user


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSettings(Settings):
    """Where a client finds its lock service, and how it uses it."""

    ttl: int  # ns
    client: int
    token: str  # what serves as the fencing token


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisLockSettings(LockSettings):
    """The same for one Redis server."""

    wait_for_replica: bool = False  # does a grant count only once a replica has it?
    sentinels: tuple[str, ...] = ()  # host:port of each, which know the primary; (): it is the first endpoint
    announced: Mapping[str, str] = field(default_factory=dict)  # host:port by the host that sentinels give


@dataclass(frozen=True, slots=True, kw_only=True)
class KahunaLockSettings(LockSettings):
    """The same for Kahuna."""

    is_ephemeral: bool = False  # is a lock only in memory, as if the request did not say?


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlLeaseSettings(LockSettings):
    """The same for a lease in a table of SQL."""

    system: str  # of the database


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketName:
    """Where a client of S3 finds its bucket, and how it calls the servers."""

    name: str = "fencepost"
    region: str = "us-east-1"
    host: str = ""  # host:port of a server that already runs; "": its address is its name
    is_ours: bool = True  # may it be created and changed?


@dataclass(frozen=True, slots=True, kw_only=True)
class S3LockSettings(LockSettings):
    """The same for S3."""

    bucket: BucketName = BucketName()


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings(Settings):
    """Where a client finds its storage, and how the storage fences writes."""

    fencing: str
    policy: str
    fence_on_acquire: bool = False
    logged: bool = True  # does it log each accepted write itself, for the commit order?
    recorded: int = 0  # bytes that all clients recorded, once they are done


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdStorageSettings(StorageSettings):
    """The same for etcd."""

    round_robin: bool = False  # does each call go to the next server?


@dataclass(frozen=True, slots=True, kw_only=True)
class GaleraSettings(StorageSettings):
    """The same for several nodes of MariaDB with Galera."""

    round_robin: bool = False  # does each call go to the next node?
    sync_wait: int = 0  # wsrep_sync_wait: before which statements a node catches up with the others


@dataclass(frozen=True, slots=True, kw_only=True)
class S3StorageSettings(StorageSettings):
    """The same for S3."""

    bucket: BucketName = BucketName()


def named(names: str, name: str) -> str:
    """Return a name on the servers of a run: with the run's own part, so that runs never meet."""
    return f"{names}/{name}" if names else name


def host_and_port(endpoint: str) -> tuple[str, int]:
    """Split `host:port`."""
    host, _, port = endpoint.rpartition(":")
    return host, int(port)
