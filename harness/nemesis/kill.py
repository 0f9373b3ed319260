"""Kill: servers are killed, or stopped in an orderly way, and later restarted with their data on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel

from checkers.history.fault_kinds import KINDS, FaultKind
from harness.core.duration import Span
from harness.core.fields import STRICT, Length
from harness.nemesis.contradictions import Contradiction, Sections
from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import Fault
from harness.nemesis.fields import ServersOrLeader
from harness.nemesis.leader import never_leads, servers_now, side_of
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Need
from harness.network.topology import Edge

if TYPE_CHECKING:
    from harness.engines.engine import Cluster


class KillSpec(BaseModel):
    """Servers are killed, or stopped in an orderly way, and later restarted with their data on disk."""

    model_config = STRICT
    called: ClassVar[str] = "kill"
    words: ClassVar[FaultKind] = KINDS["kill"]
    counts: ClassVar[tuple[str, ...]] = ("kills",)
    neutral: ClassVar[Mapping[str, str]] = {"target": "storage"}
    engine_need: ClassVar[Literal["killed"]] = "killed"
    at: ClassVar[None] = None
    hits_servers: ClassVar[bool] = True
    aimed_by: ClassVar[str] = "target"
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["kill"]
    target: ServersOrLeader
    """lock or storage (all its servers), lock:leader (whichever leads then), or one by its name."""
    orderly: bool = False
    """Stop them with the signal that they expect (SIGTERM, for PostgreSQL SIGINT), not with SIGKILL."""
    every: Length | None = None
    """They are killed once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long they stay down."""

    def aim(self) -> tuple[str, ...]:
        """Return the side or server that is killed."""
        return (side_of(self.target),)

    def needs(self, reach: Reach) -> AbstractSet[Need]:
        """Return the servers, and the edges over which the kill is proved."""
        servers = reach.servers(self.aim())
        return {*servers, *reach.edges(servers)}

    def in_force(self, reach: Reach, _wait: Callable[[Span], None]) -> AbstractContextManager[Fault]:
        """Kill the servers."""
        name, servers = servers_now(reach, self.target)
        return kill(reach.cluster, name, servers, reach.edges(servers), orderly=self.orderly)

    def contradictions(self, index: int, sections: Sections) -> Iterator[Contradiction]:
        """Yield a leader among servers that have none."""
        yield from never_leads(index, self.target, sections)


@contextmanager
def kill(
    cluster: Cluster, target: str, servers: Sequence[str], edges: AbstractSet[Edge], *, orderly: bool = False
) -> Iterator[Fault]:
    """Keep servers down until the block ends; `edges` lead to them, and prove it.

    In force means: they were observed ended, and each edge that answered just before is silent.
    Healed means: each server is usable, and answers over every edge.
    Raises FaultNotInstalledError if that is not observed, ServerNotReadyError if a server does not restart.
    """
    probes = Probes.of(cluster, "kill", target, edges)
    before = probes.prove_whole()
    try:
        ended = cluster.kill(servers, orderly=orderly)
        since = time.monotonic_ns()
        silence = probes.prove_silent(before)
        fault = Fault(
            "kill",
            target,
            evidence=f"{ended}; answers took {ms(before)} before, none came in {ms(silence)} since",
            since=since,
        )
        yield fault
    finally:
        cluster.restart(servers)
        taken = probes.prove_whole_again()
    fault.healed = f"{', '.join(servers)} usable again, and answered over every edge within {ms(taken)}"
