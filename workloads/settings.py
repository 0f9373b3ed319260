"""The settings of a client: its servers, and the options of its target."""

from __future__ import annotations

from dataclasses import dataclass, field

REDIS_ADMINISTRATOR = "fencepost"
"""The Redis user that may change replication and persistence, on servers with a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSettings:
    """Where a client finds its lock service, and how it uses it."""

    kind: str
    endpoints: tuple[str, ...]  # host:port of each server, through this client's own edges; a path may follow
    ttl: int  # ns
    timeout: float  # seconds; of each call
    client: int
    token: str  # what serves as the fencing token
    wait_for_replica: bool = False  # does a grant count only once a replica has it? (Redis only)
    run: str = ""  # names the run, to a service that outlives it
    names: str = (
        ""  # is in every name of this run, on servers that other runs use as well; "": they are its own
    )
    password: str = field(default="", repr=False)  # that the servers ask for; "": for none
    user: str = ""  # whose password that is, on servers that we did not start
    ticket: str = field(default="", repr=False)  # of a login that was made for all clients (etcd only)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Where a client finds its storage, and how the storage fences writes."""

    kind: str
    endpoints: tuple[str, ...]  # as for the lock; or a file
    fencing: str
    policy: str
    fence_on_acquire: bool = False
    timeout: float  # seconds; of each call
    run: str = ""  # names the run, to a service that outlives it
    names: str = (
        ""  # is in every name of this run, on servers that other runs use as well; "": they are its own
    )
    password: str = field(default="", repr=False)  # that the servers ask for; "": for none
    user: str = ""  # whose password that is, on servers that we did not start
    ticket: str = field(default="", repr=False)  # of a login that was made for all clients (etcd only)
    round_robin: bool = False  # does each call go to the next server? (etcd only)
    database: str = ""  # the one to use there (PostgreSQL only)
    ca_file: str = ""  # the certificate authority of servers that speak TLS to clients (PostgreSQL only)
    cert_file: str = ""  # what clients show them, and the key of that; "": nothing
    key_file: str = ""
    certified: str = ""  # the host in their certificate
    recorded: int = 0  # bytes that all clients recorded, once they are done


def named(names: str, name: str) -> str:
    """Return a name on the servers of a run: with the run's own part, so that runs never meet."""
    return f"{names}/{name}" if names else name


def host_and_port(endpoint: str) -> tuple[str, int]:
    """Split `host:port`."""
    host, _, port = endpoint.rpartition(":")
    return host, int(port)
