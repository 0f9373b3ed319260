"""Failover: a replica replaces its primary, as when an address moves.

Asynchronous replication loses the writes that the primary acknowledged before the replica had
them. Holding the link first makes that certain: the primary still acknowledges, its connection
to the replica stays open, and nothing arrives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from harness.core.duration import NS, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.engines.engine import Cluster
from harness.nemesis import patroni_failover, sentinel_failover
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, ns, sides
from harness.nemesis.edge_probes import Probes, held_link, proxies_of
from harness.nemesis.fault import InForce, InjectedFault, Wait, polls
from harness.nemesis.moments import When
from harness.nemesis.postgres_failover import OldPrimary, postgres_failover
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.network import redis_server
from harness.network.redis_server import RedisRole
from harness.network.topology import REPLICA, SENTINEL, STANDBY, Link, NetworkEdge, Server

LONGEST_HELD = 50 * NS["s"]
REPLICATION: Mapping[str, tuple[str, str]] = {
    "lock": (REPLICA, 'needs a replica: set lock.kind "redis" with replica = true, or manager = "sentinel"'),
    "storage": (
        STANDBY,
        'needs a standby: set storage.kind "postgres" with replication = "asynchronous" or "synchronous"',
    ),
}
"""For each target, the server that is promoted, and the error if there is none."""


class FailoverSpec(BaseModel):
    """The replica of the lock service, or the standby of the storage, replaces its primary, once per run."""

    model_config = STRICT
    called: ClassVar[str] = "failover"
    words: ClassVar[FaultKind] = KINDS["failover"]
    counts: ClassVar[tuple[str, ...]] = ("failovers",)
    traits: ClassVar[Trait] = Trait.SUITS_MANAGER
    neutral: ClassVar[Mapping[str, object]] = {"target": "lock"}
    engine_need: ClassVar[None] = None
    at: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"
    every: ClassVar[None] = None

    kind: Literal["failover"]
    target: Literal["lock", "storage"]
    """lock: a replica of a Redis lock; storage: the standby of PostgreSQL."""
    held: Length | None = None
    """How long the replication link is held before the promotion: writes acknowledged then are lost."""
    old_primary: OldPrimary = "killed"
    """Of PostgreSQL, or of Redis with Sentinel. killed: it is killed before the promotion, and cannot accept
    writes any more; paused: it is paused during the promotion, and then goes on: there are two primaries;
    cut-off: it loses the other servers and most clients, and never stops."""
    left_behind: Annotated[int, Field(ge=1)] | None = None
    """The number of clients whose route still leads to the old primary while there are two; by default 1."""
    lasts: Length | None = None
    """How long there are two primaries."""
    when: When = None

    @model_validator(mode="after")
    def _fits_its_target(self) -> Self:
        if self.old_primary == "killed" and (self.left_behind or self.lasts):
            raise ValueError(
                "left_behind and lasts are for two primaries, of the storage or of a lock with manager "
                f'"{SENTINEL}": set old_primary "cut-off" too, or "paused" for the storage'
            )
        return self

    def aim(self) -> tuple[str, ...]:
        """Return the side whose replica is promoted."""
        return (self.target,)

    def needs(self, reach: FaultReach) -> Needs:
        """Return the servers, and the edges to them, which are redirected."""
        return reach.servers_and_edges(self.aim())

    def in_force(self, reach: FaultReach, wait: Wait) -> InForce:
        """Promote the replica; `wait` waits for a duration or until the end of the run."""
        behind = 0 if self.old_primary == "killed" else self.left_behind or 1
        name = reach.recorded(self.target)
        if self.target == "lock" and any(server.system == SENTINEL for server in reach.cluster.servers):
            return sentinel_failover.sentinel_failover(
                reach.cluster, name, reach.clients, self.old_primary, behind
            )
        primary, replica = reach.servers(self.aim())
        hold = partial(wait, self.held) if self.held else None
        link = Link(replica, primary)
        if self.target == "lock":
            return redis_failover(reach.cluster, name, link, reach.clients, hold)
        if any(server.patroni for server in reach.cluster.servers):
            return patroni_failover.patroni_failover(
                reach.cluster, name, link, reach.clients, self.old_primary, hold
            )
        moved, left = reach.clients[: -behind or None], reach.clients[-behind:] if behind else ()
        return postgres_failover(reach.cluster, name, link, (moved, left), self.old_primary, hold)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield a side without a replica, other faults on its servers, and what is too long or too many."""
        replica, remedy = REPLICATION[self.target]
        side = sides(sections)[self.target]
        if side and not self._is_by_sentinel(sections) and replica not in side.servers:
            yield SettingConflict(("faults", index, "target"), remedy)
        others = [*sections.others(index)]
        if any((other.kind, other.target) == (self.kind, self.target) for other in others):
            yield SettingConflict(("faults", index, "kind"), "occurs twice: a failover happens once per run")
        servers = {self.target, *(side.servers if side else ())}
        hit = [other for other in others if other.target in servers]
        for kind in sorted({other.kind for other in hit if other.traits & (Trait.KILLS | Trait.FREEZES)}):
            yield SettingConflict(
                ("faults", index, "kind"), f"cannot be combined with a {kind} of the {self.target}'s servers"
            )
        yield from self._held(index, sections)
        if side:
            yield from self._old_primary(index, sections)
        if self.left_behind and sections.workload and self.left_behind >= sections.workload.clients:
            yield SettingConflict(
                ("faults", index, "left_behind"),
                f"must be less than workload.clients, which is {sections.workload.clients}",
            )

    def _is_by_sentinel(self, sections: OtherSections) -> bool:
        return self.target == "lock" and sentinel_failover.is_managed(sections)

    def _old_primary(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield what the target does not do with its old primary."""
        if self._is_by_sentinel(sections):
            yield from sentinel_failover.contradictions(index, self, sections)
        elif self.target == "lock":
            for key in sorted({"old_primary", "left_behind", "lasts"} & self.model_fields_set):
                yield SettingConflict(
                    ("faults", index, key),
                    f'is for the target storage, or for a lock with manager = "{SENTINEL}": remove the key',
                )
        elif patroni_failover.is_managed(sections):
            yield from patroni_failover.contradictions(index, self, sections)
        elif self.old_primary != "killed" and not self.lasts:
            yield SettingConflict(
                ("faults", index, "old_primary"),
                f'"{self.old_primary}" leaves two primaries: say in lasts how long there are two',
            )

    def _held(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        held, key = ns(self.held, sections.lock), ("faults", index, "held")
        if held and held > LONGEST_HELD:
            longest = format_duration(LONGEST_HELD)
            yield SettingConflict(
                key, f"must be at most {longest}: a server drops a silent link after a minute"
            )
        lasts = ns(self.lasts, sections.lock) or 0
        if held and sections.workload and held + lasts >= sections.workload.duration // 2:
            what = "held and lasts must together be" if lasts else "must be"
            yield SettingConflict(
                key,
                f"{what} shorter than half the run: workload.duration is "
                f"{format_duration(sections.workload.duration)}",
            )


SETTLING = 20.0  # s until a server of Redis must have its new role; it takes at most 1
POLL = 0.02  # s


@contextmanager
def redis_failover(
    cluster: Cluster, target: str, link: Link, clients: Iterable[int], hold: Callable[[], None] | None
) -> Iterator[InjectedFault]:
    """Promote the replica of a link, and redirect the clients' edges to it permanently.

    With `hold`, the link is held until that returns. In force means: the replica reports the role
    master, and answers over each edge that led to the old primary. Healed means: the old primary
    follows the new one, and has dropped the data that only it had.
    Raises FaultNotInstalledError if that is not observed.
    """
    toxiproxy = proxies_of(cluster, "failover", target)
    probes = Probes.of(cluster, "failover", target, [NetworkEdge(client, link.server) for client in clients])
    servers = {server.name: server for server in cluster.servers}
    primary, replica = servers[link.server], servers[link.source]
    _prove_following(target, replica, "failover")
    promoted = False
    try:
        held = "its link was up" if hold is None else held_link(toxiproxy, link, hold)
        for edge in probes.edges:
            toxiproxy.close(edge)
        behind = redis_server.role(primary.address).offset - redis_server.role(replica.address).offset
        promoted = True
        redis_server.follow(replica.address, None)
        _settle("failover", target, replica, lambda role: role.role == "master")
        since = time.monotonic_ns()
        for edge in probes.edges:
            toxiproxy.redirect(edge, replica.upstream)
        seen = _prove_promoted(target, probes, replica)
        evidence = f"{held}, it lacked {behind} bytes of what {link.server} had, and {seen}"
        fault = InjectedFault("failover", target, evidence=evidence, since=since)
        yield fault
    finally:
        if promoted:  # the old primary follows the new one, over the same link
            toxiproxy.replace(link, replica.upstream)
            redis_server.follow(primary.address, replica.follows)
        else:
            toxiproxy.heal(link)
            for edge in probes.edges:
                toxiproxy.redirect(edge, primary.upstream)
    fault.healed = _prove_following(target, primary, "end of the failover")


def _prove_promoted(target: str, probes: Probes, replica: Server) -> str:
    """Check that the replica answers over each edge, and return the evidence."""
    probes.prove_whole_again()
    expected = redis_server.run_id(replica.address)
    for edge, (address, _) in probes.edges.items():
        if (found := redis_server.run_id(address)) != expected:
            raise FaultNotInstalledError("failover", target, f"{edge} leads to process {found}")
    return f"{replica.name} reports role master and answers over every edge (run_id {expected})"


def _prove_following(target: str, server: Server, what: str) -> str:
    """Wait until a server is a replica that has caught up, and return the evidence."""
    _settle(what, target, server, lambda role: (role.role, role.link) == ("slave", "up"))
    return f"{server.name} reports role slave, and its link is up"


def _settle(what: str, target: str, server: Server, is_done: Callable[[RedisRole], bool]) -> None:
    for _ in polls(SETTLING, POLL):
        if is_done(role := redis_server.role(server.address)):
            return
    raise FaultNotInstalledError(what, target, f"{server.name} is {role}")
