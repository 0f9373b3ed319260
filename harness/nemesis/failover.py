"""Failover: a Redis replica replaces its primary, as when an address moves.

Replication is asynchronous: writes that the primary acknowledged before the replica had them are
lost. Holding the link first makes that certain: the primary still acknowledges, its connection to
the replica stays open, and nothing arrives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel

from checkers.history.fault_kinds import KINDS, FaultKind
from harness.core.duration import NS, Span, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.nemesis.contradictions import Contradiction, Sections, ns
from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import Fault
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Need
from harness.network import redis_server
from harness.network.topology import REPLICA, Edge, Link, Server

if TYPE_CHECKING:
    from harness.engines.engine import Cluster
    from harness.network.toxiproxy import Toxiproxy

LONGEST_HELD = 50 * NS["s"]
SETTLING = 20.0  # s until a server must have its new role; it takes at most 1
POLL = 0.02  # s


class FailoverSpec(BaseModel):
    """The replica of the lock service replaces its primary, once per run."""

    model_config = STRICT
    called: ClassVar[str] = "failover"
    words: ClassVar[FaultKind] = KINDS["failover"]
    counts: ClassVar[tuple[str, ...]] = ("failovers",)
    neutral: ClassVar[Mapping[str, str]] = {"target": "lock"}
    engine_need: ClassVar[None] = None
    at: ClassVar[None] = None
    hits_servers: ClassVar[bool] = True
    aimed_by: ClassVar[str] = "target"
    unserved: ClassVar[str] = "nothing of {} can be hit"
    every: ClassVar[None] = None
    lasts: ClassVar[None] = None

    kind: Literal["failover"]
    target: Literal["lock"]
    held: Length | None = None
    """How long the replication link is held before the promotion: writes acknowledged then are lost."""

    def aim(self) -> tuple[str, ...]:
        """Return the side whose replica is promoted."""
        return (self.target,)

    def needs(self, reach: Reach) -> AbstractSet[Need]:
        """Return the servers, and the edges to them, which are redirected."""
        return reach.servers_and_edges(self.aim())

    def in_force(self, reach: Reach, wait: Callable[[Span], None]) -> AbstractContextManager[Fault]:
        """Promote the replica; `wait` waits for a duration or until the end of the run."""
        primary, replica = reach.servers(self.aim())
        hold = partial(wait, self.held) if self.held else None
        return failover(
            reach.cluster, reach.recorded(self.target), Link(replica, primary), reach.clients, hold
        )

    def contradictions(self, index: int, sections: Sections) -> Iterator[Contradiction]:
        """Yield a lock without a replica, other faults on the lock's servers, and a hold that is too long."""
        if sections.lock and REPLICA not in sections.lock.servers:
            yield Contradiction(
                ("faults", index, "target"),
                'needs a replica: set lock.kind "redis" with replica = true',
            )
        others = [other for number, other in sections.faults.items() if number != index]
        if any(other.kind == self.kind for other in others):
            yield Contradiction(("faults", index, "kind"), "occurs twice: a failover happens once per run")
        locks = {"lock", *(sections.lock.servers if sections.lock else ())}
        if any(other.kind == "kill" and other.target in locks for other in others):
            yield Contradiction(
                ("faults", index, "kind"), "cannot be combined with a kill of the lock's servers"
            )
        yield from self._held(index, sections)

    def _held(self, index: int, sections: Sections) -> Iterator[Contradiction]:
        held, key = ns(self.held, sections.lock), ("faults", index, "held")
        if held and held > LONGEST_HELD:
            longest = format_duration(LONGEST_HELD)
            yield Contradiction(key, f"must be at most {longest}: Redis drops a silent link after a minute")
        if held and sections.workload and held >= sections.workload.duration // 2:
            yield Contradiction(
                key,
                "must be shorter than half the run: workload.duration is "
                f"{format_duration(sections.workload.duration)}",
            )


@contextmanager
def failover(
    cluster: Cluster, target: str, link: Link, clients: Iterable[int], hold: Callable[[], None] | None
) -> Iterator[Fault]:
    """Promote the replica of a link, and redirect the clients' edges to it permanently.

    With `hold`, the link is held until that returns. In force means: the replica reports the role
    master, and answers over each edge that led to the old primary. Healed means: the old primary
    follows the new one, and has dropped the data that only it had.
    Raises FaultNotInstalledError if that is not observed.
    """
    change = _change(cluster, target, link, clients)
    change.prove_following(change.replica)
    promoted = False
    try:
        held = "its link was up" if hold is None else change.hold_link(hold)
        behind = change.cut_primary_off()
        promoted = True
        since = change.promote()
        evidence = (
            f"{held}, it lacked {behind} bytes of what {link.server} had, and {change.prove_promoted()}"
        )
        fault = Fault("failover", target, evidence=evidence, since=since)
        yield fault
    finally:
        if promoted:
            change.turn_link()
        else:
            change.take_back()
    fault.healed = change.prove_joined()


def _change(cluster: Cluster, target: str, link: Link, clients: Iterable[int]) -> _Change:
    if cluster.toxiproxy is None:
        raise FaultNotInstalledError("failover", target, "there are no proxies in front of the servers")
    servers = {server.name: server for server in cluster.servers}
    return _Change(
        toxiproxy=cluster.toxiproxy,
        target=target,
        link=link,
        primary=servers[link.server],
        replica=servers[link.follower],
        probes=Probes.of(cluster, "failover", target, (Edge(client, link.server) for client in clients)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A replica, the primary that it replaces, and the edges to the primary."""

    toxiproxy: Toxiproxy
    target: str
    link: Link
    primary: Server
    replica: Server
    probes: Probes

    def hold_link(self, hold: Callable[[], None]) -> str:
        """Hold the link to the replica until `hold` returns, and return the evidence."""
        since = time.monotonic()
        shown = self.toxiproxy.hold(self.link)
        hold()
        return f"its link was held for {ms(time.monotonic() - since)} (Toxiproxy shows {shown})"

    def cut_primary_off(self) -> int:
        """Close every edge; return how many bytes of replication the replica will never get."""
        for edge in self.probes.edges:
            self.toxiproxy.close(edge)
        return redis_server.role(self.primary.address).offset - redis_server.role(self.replica.address).offset

    def promote(self) -> int:
        """Promote the replica, and redirect the edges to it; return when that was observed (ns)."""
        redis_server.follow(self.replica.address, None)
        self._settle("failover", self.replica, lambda role: role.role == "master")
        seen = time.monotonic_ns()
        for edge in self.probes.edges:
            self.toxiproxy.redirect(edge, self.replica.upstream)
        return seen

    def prove_promoted(self) -> str:
        """Check that the replica answers over each edge, and return the evidence."""
        self.probes.prove_whole_again()
        expected = redis_server.run_id(self.replica.address)
        for edge, (address, _) in self.probes.edges.items():
            if (found := redis_server.run_id(address)) != expected:
                raise FaultNotInstalledError("failover", self.target, f"{edge} leads to process {found}")
        return f"{self.replica.name} reports role master and answers over every edge (run_id {expected})"

    def turn_link(self) -> None:
        """Make the old primary follow the new one, over the same link."""
        self.toxiproxy.replace(self.link, self.replica.upstream)
        redis_server.follow(self.primary.address, self.replica.follows)

    def take_back(self) -> None:
        """Undo everything if the replica was not promoted."""
        self.toxiproxy.heal(self.link)
        for edge in self.probes.edges:
            self.toxiproxy.redirect(edge, self.primary.upstream)

    def prove_following(self, server: Server, what: str = "failover") -> str:
        """Wait until a server is a replica that has caught up, and return the evidence."""
        self._settle(what, server, lambda role: (role.role, role.link) == ("slave", "up"))
        return f"{server.name} reports role slave, and its link is up"

    def prove_joined(self) -> str:
        """Wait until the old primary has caught up with the new one."""
        return self.prove_following(self.primary, "end of the failover")

    def _settle(self, what: str, server: Server, is_done: Callable[[redis_server.Role], bool]) -> None:
        deadline = time.monotonic() + SETTLING
        while not is_done(role := redis_server.role(server.address)):
            if time.monotonic() > deadline:
                raise FaultNotInstalledError(what, self.target, f"{server.name} is {role}")
            time.sleep(POLL)
