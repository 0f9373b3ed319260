"""Partition: a client and some servers are cut off from each other, in one or both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, Field

from checkers.history.fault_kinds import KINDS, FaultKind
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.nemesis.contradictions import Contradiction, Sections
from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import Fault
from harness.nemesis.fields import Side, Victim, named_servers
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Need
from harness.nemesis.stop_points import GoOn
from harness.network.topology import Direction, Edge

if TYPE_CHECKING:
    from harness.engines.engine import Cluster


class PartitionSpec(BaseModel):
    """A client is cut off from the lock service, from the storage, from both, or from some servers."""

    model_config = STRICT
    called: ClassVar[str] = "partition"
    words: ClassVar[FaultKind] = KINDS["partition"]
    counts: ClassVar[tuple[str, ...]] = ("partitions",)
    neutral: ClassVar[Mapping[str, str]] = {"target": "holder", "from": "both", "direction": "both"}
    engine_need: ClassVar[Literal["partitions"]] = "partitions"
    at: ClassVar[None] = None
    until: ClassVar[None] = None
    hits_servers: ClassVar[bool] = False
    aimed_by: ClassVar[str] = "from"
    unserved: ClassVar[str] = "no client can be cut off from {}"

    kind: Literal["partition"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    side: Side = Field(alias="from")
    """The side that the client is cut off from, or a list of servers, such as ["redis-4", "redis-5"]."""
    direction: Literal["both", "to-server", "to-client"] = "both"
    """to-server loses requests; to-client loses answers to requests that arrive."""
    every: Length
    """It is cut off once in each interval of this length."""
    lasts: Length
    """How long it stays cut off."""

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the client is cut off from."""
        return named_servers(self.side)

    def needs(self, reach: Reach, client: int) -> AbstractSet[Need]:
        """Return the edges to cut."""
        return {Edge(client, server) for server in reach.servers(self.aim())}

    def in_force_on(self, reach: Reach, client: int, _go_on: GoOn | None) -> AbstractContextManager[Fault]:
        """Cut a client off."""
        return partition(reach.cluster, client, reach.servers(self.aim()), self.direction)

    def contradictions(self, _index: int, _sections: Sections) -> Iterator[Contradiction]:
        """Yield nothing: a partition has no other contradictions."""
        return iter(())


@contextmanager
def partition(
    cluster: Cluster, client: int, servers: Sequence[str], direction: Direction = "both"
) -> Iterator[Fault]:
    """Cut the edges from a client to these servers until the block ends.

    In force means: Toxiproxy shows every cut, and each edge that answered just before is silent.
    Healed means: Toxiproxy shows no cut, and every server answers.
    Raises FaultNotInstalledError if that is not observed. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = cluster.toxiproxy
    if toxiproxy is None:
        raise FaultNotInstalledError("partition", target, "there are no proxies in front of the servers")
    probes = Probes.of(cluster, "partition", target, (Edge(client, name) for name in servers))
    before = probes.prove_whole()
    try:
        shown = {str(toxiproxy.cut(edge, direction)) for edge in probes.edges}
        silence = probes.prove_silent(before)
        fault = Fault(
            "partition",
            target,
            evidence=f"cut off from {', '.join(servers)} ({direction}): Toxiproxy shows {', '.join(shown)}; "
            f"answers took {ms(before)} before, none came in {ms(silence)} since",
        )
        yield fault
    finally:
        probes.heal(toxiproxy)
        taken = probes.prove_whole_again()
    fault.healed = f"Toxiproxy shows no toxic, and every server answered within {ms(taken)}"
