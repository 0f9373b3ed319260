"""The lock services of a target file that use Redis or Valkey: one server with its replicas, and Redlock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from harness.engines.built_images import OURS
from harness.network import sentinel_server
from harness.network.sentinel_server import SENTINELS
from harness.network.sentinel_server import SERVERS as WATCHED
from harness.network.topology import REPLICA, ServerSpec
from harness.spec.attached import numbered
from harness.spec.sides import LockSide
from harness.spec.systems import OfRedis
from workloads.settings import LockSettings, RedisLockSettings

REDLOCK_SERVERS = 5
NEEDS_REPLICA = 'needs a replica: set replica = true, or manager = "sentinel", too'


class RedisLockSection(LockSide, OfRedis):
    """Redis, one server: a key set if it is absent, with an expiry, in one script with the token."""

    most_running: ClassVar[int] = 1

    kind: Literal["redis"]
    token: Literal["counter", "none"] = "counter"  # noqa: S105 - no password
    """The fencing token: a counter, incremented in the script that grants; none: your program's lock gives
    none."""
    durable: bool = True
    """Every write is on disk before it is acknowledged; false: nothing is written to disk."""
    replica: bool = False
    """A second server, redis-replica, follows redis-1 and can replace it (fault "failover")."""
    manager: Literal["sentinel"] | None = None
    """Three sentinels decide which of three servers leads, redis-1 at first; without it, nothing does."""
    wait_for_replica: bool = False
    """A grant or a renewal counts only once a replica has it (WAIT 1); needs replica or manager."""
    min_replicas_to_write: Literal[0, 1] = 0
    """The server's own setting, with a min-replicas-max-lag of 1 s: the least number of replicas that must
    have answered lately, or it refuses writes; needs replica or manager."""

    @model_validator(mode="after")
    def _has_a_replica_to_wait_for(self) -> Self:
        if self.replica and self.manager:
            raise ValueError(f'manager "{self.manager}" has two replicas of its own: remove replica')
        if self.wait_for_replica and not (self.replica or self.manager or self.running):
            raise ValueError(f"wait_for_replica {NEEDS_REPLICA}")
        if self.min_replicas_to_write and not (self.replica or self.manager):
            raise ValueError(f"min_replicas_to_write {NEEDS_REPLICA}")
        return self

    @property
    def complete_at_once(self) -> str | None:
        """The setting with which one answer grants and carries the token; None if it does not."""
        return None if self.wait_for_replica else 'lock.kind "redis" without wait_for_replica'

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers; clients speak to the first, or to the one that sentinels name."""
        if self.manager:
            return (*numbered("redis", None, WATCHED), *numbered(self.manager, None, SENTINELS))
        return ("redis-1", REPLICA) if self.replica else ("redis-1",)

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a server, which writes to disk or not, and may need a replica for that; or a sentinel."""
        variables = {"FENCEPOST_REDIS_MIN_REPLICAS": f"{self.min_replicas_to_write}"}
        if not self.durable:
            variables["FENCEPOST_REDIS_APPENDONLY"] = "no"
        started = super().started(server)
        started = replace(
            started, durable=self.durable, min_replicas=self.min_replicas_to_write, variables=variables
        )
        if not self.manager:
            return started
        started = replace(started, image=started.image or f"{OURS}{self.flavour}")
        if server.name.startswith(self.manager):
            return replace(started, system=self.manager)
        first = self.servers[0]
        return replace(started, manager=self.manager, follows="" if server.name == first else first)

    def settings(self, **shared: Any) -> LockSettings:
        """Return what a client gets."""
        if self.manager:
            servers, sentinels = shared["endpoints"][:WATCHED], shared["endpoints"][WATCHED:]
            announced = dict(zip(map(sentinel_server.announced, self.servers), servers, strict=False))
            shared |= {"endpoints": servers, "sentinels": sentinels, "announced": announced}
        return RedisLockSettings(**shared, wait_for_replica=self.wait_for_replica)


class RedlockSection(LockSide, OfRedis):
    """Redlock on five Redis servers, most of which must grant. It has no fencing token."""

    fewest_running: ClassVar[int] = 3

    kind: Literal["redlock"]
    token: Literal["highest-counter", "wall-clock", "random", "none"]
    """The substitute for a fencing token, none of which is correct; none: your program's lock gives none."""

    @property
    def complete_at_once(self) -> str | None:
        """The setting with which one answer grants and carries the token; None if it does not."""
        return 'lock.token "highest-counter"' if self.token == "highest-counter" else None  # noqa: S105 - no password

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return numbered("redis", self.running, REDLOCK_SERVERS)
