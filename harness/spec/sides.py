"""The two sides of a target, its lock service and its storage, as far as all their kinds are alike.

Each kind is a class of its own: it says what it can do, how its servers start, and what its clients get.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from harness.core.fields import STRICT
from harness.network.topology import ServerSpec
from harness.spec.fields import DEFAULT_TTL, Memory, MillisecondsTtl
from workloads.settings import LockSettings, Login, StorageSettings

Policy = Literal["strict", "inclusive"]


class Side(BaseModel):
    """The settings that both sides have."""

    model_config = STRICT
    only_servers: ClassVar[bool] = False
    """Has it only servers, so that a program of the user's must be the client?"""
    has_servers: ClassVar[bool] = True
    """Can it have servers that Fencepost starts or puts proxies in front of?"""

    kind: str

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return one of its servers with everything that its kind starts it with."""
        return server

    def login(self, password: str, host: str) -> Login:  # noqa: ARG002 - some need it
        """Return how to log in to servers that already run, at this host."""
        return Login(password=password)

    def endpoints(self, servers: Iterable[str], folder: Path) -> tuple[str, ...]:  # noqa: ARG002 - some need it
        """Return where clients find it: at its servers, unless the kind has something else."""
        return tuple(servers)


class LimitedMemory(Side):
    """A side with servers that Docker can limit."""

    memory: Memory | None = None
    """The most memory of each server started on Docker, such as "1GB"; without it, the system's own."""

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return one of its servers with its limit."""
        return replace(super().started(server), memory=self.memory or 0)


class LockSide(Side):
    """The settings that all lock services have."""

    is_key_in_etcd: ClassVar[bool] = False
    """Is a grant a key in etcd, which a storage in the same etcd can check?"""

    ttl: MillisecondsTtl = DEFAULT_TTL
    """How long a grant lasts without a renewal."""

    def settings(self, **shared: Any) -> LockSettings:
        """Return what a client gets: what is shared by all kinds, and what its kind adds."""
        return LockSettings(**shared)


class StorageSide(Side):
    """The settings that all storages have."""

    policy: Policy = "strict"
    """strict accepts token > mark (one write per token); inclusive accepts token >= mark."""
    fence_on_acquire: bool = False
    """A new holder raises the mark to its token before it reads; only with the policy inclusive."""

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write take one message, so that no stopped client can hold a transaction open?"""
        return True

    @property
    def is_in_the_lock(self) -> bool:
        """Does it share the lock's servers?"""
        return False

    @property
    def order_survives_kill(self) -> bool:
        """Does a killed server still know the order of its writes after its restart?"""
        return True

    @property
    def changes_servers(self) -> bool:
        """Does each call go to the next server?"""
        return False

    def settings(self, **shared: Any) -> StorageSettings:
        """Return what a client gets: what is shared by all kinds, and what its kind adds."""
        return StorageSettings(**shared)
