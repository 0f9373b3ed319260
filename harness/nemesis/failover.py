"""Failover: a replica replaces its primary, as when an address moves.

Asynchronous replication loses the writes that the primary acknowledged before the replica had
them. Holding the link first makes that certain: the primary still acknowledges, its connection
to the replica stays open, and nothing arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from harness.core.duration import NS, format_duration
from harness.core.fields import STRICT, Length
from harness.nemesis import patroni_failover
from harness.nemesis.contradictions import OtherSections, SettingConflict, ns, sides
from harness.nemesis.fault import InForce, Wait
from harness.nemesis.moments import When
from harness.nemesis.postgres_failover import OldPrimary, postgres_failover
from harness.nemesis.reach import FaultReach
from harness.nemesis.redis_failover import redis_failover
from harness.nemesis.reservations import Needs
from harness.network.topology import REPLICA, STANDBY, Link

LONGEST_HELD = 50 * NS["s"]
REPLICATION: Mapping[str, tuple[str, str]] = {
    "lock": (REPLICA, 'needs a replica: set lock.kind "redis" with replica = true'),
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
    neutral: ClassVar[Mapping[str, object]] = {"target": "lock"}
    engine_need: ClassVar[None] = None
    at: ClassVar[None] = None
    aimed_by: ClassVar[str] = "target"
    unserved: ClassVar[str] = "nothing of {} can be hit"
    every: ClassVar[None] = None

    kind: Literal["failover"]
    target: Literal["lock", "storage"]
    """lock: the replica of a Redis lock; storage: the standby of PostgreSQL."""
    held: Length | None = None
    """How long the replication link is held before the promotion: writes acknowledged then are lost."""
    old_primary: OldPrimary = "killed"
    """Of PostgreSQL. killed: it is killed before the promotion, and cannot accept writes any more;
    paused: it is paused during the promotion, and then goes on: there are two primaries; cut-off: it
    loses the standby and most clients, and never stops."""
    left_behind: Annotated[int, Field(ge=1)] | None = None
    """The number of clients whose route still leads to the old primary while there are two; by default 1."""
    lasts: Length | None = None
    """How long there are two primaries."""
    when: When = None

    @model_validator(mode="after")
    def _fits_its_target(self) -> Self:
        if self.target == "lock" and self.model_fields_set & {"old_primary", "left_behind", "lasts"}:
            raise ValueError("old_primary, left_behind and lasts are for the target storage: remove them")
        if self.old_primary == "killed" and (self.left_behind or self.lasts):
            raise ValueError(
                'left_behind and lasts are for two primaries: set old_primary "paused" or "cut-off" too'
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
        primary, replica = reach.servers(self.aim())
        hold = partial(wait, self.held) if self.held else None
        link, name = Link(replica, primary), reach.recorded(self.target)
        if self.target == "lock":
            return redis_failover(reach.cluster, name, link, reach.clients, hold)
        if any(server.patroni for server in reach.cluster.servers):
            return patroni_failover.patroni_failover(
                reach.cluster, name, link, reach.clients, self.old_primary, hold
            )
        behind = 0 if self.old_primary == "killed" else self.left_behind or 1
        moved, left = reach.clients[: -behind or None], reach.clients[-behind:] if behind else ()
        return postgres_failover(reach.cluster, name, link, (moved, left), self.old_primary, hold)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield a side without a replica, other faults on its servers, and what is too long or too many."""
        replica, remedy = REPLICATION[self.target]
        side = sides(sections)[self.target]
        if side and replica not in side.servers:
            yield SettingConflict(("faults", index, "target"), remedy)
        others = [*sections.others(index)]
        if any((other.kind, other.target) == (self.kind, self.target) for other in others):
            yield SettingConflict(("faults", index, "kind"), "occurs twice: a failover happens once per run")
        servers = {self.target, *(side.servers if side else ())}
        for kind in ("kill", "pause"):
            if any(other.kind == kind and other.target in servers for other in others):
                yield SettingConflict(
                    ("faults", index, "kind"),
                    f"cannot be combined with a {kind} of the {self.target}'s servers",
                )
        yield from self._held(index, sections)
        if self.target == "storage" and patroni_failover.is_managed(sections):
            yield from patroni_failover.contradictions(index, self, sections)
        elif self.old_primary != "killed" and not self.lasts:
            yield SettingConflict(
                ("faults", index, "old_primary"),
                f'"{self.old_primary}" leaves two primaries: say in lasts how long there are two',
            )
        if self.left_behind and sections.workload and self.left_behind >= sections.workload.clients:
            yield SettingConflict(
                ("faults", index, "left_behind"),
                f"must be less than workload.clients, which is {sections.workload.clients}",
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
