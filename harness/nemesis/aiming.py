"""From a fault of a target file to the servers and edges of a run that it is to hit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from harness.duration import Span
from harness.engines import Cluster
from harness.nemesis.claims import Need
from harness.nemesis.clock import clock_jump
from harness.nemesis.failover import failover
from harness.nemesis.fault import Fault
from harness.nemesis.kill import kill
from harness.nemesis.partition import partition
from harness.network.topology import Edge, Link
from harness.target import ClockSpec, FailoverSpec, FaultSpec, PartitionSpec
from harness.target.aims import ServersOfSides, recorded_target, servers_hit
from harness.target.faults import ServerFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What the faults of one run can reach."""

    cluster: Cluster
    sides: ServersOfSides
    clients: int  # how many there are

    def name(self, fault: ServerFault) -> str:
        """What the history calls its target."""
        return recorded_target(fault, self.sides)

    def needs(self, fault: FaultSpec, client: int | None = None) -> AbstractSet[Need]:
        """What a fault needs for itself: one client's edges; or servers, and everybody's edges to them."""
        servers = servers_hit(fault, self.sides)
        if client is not None:
            return {Edge(client, server) for server in servers}
        return {*servers} if isinstance(fault, ClockSpec) else {*servers, *self._edges(servers)}

    def cut(self, fault: PartitionSpec, client: int) -> AbstractContextManager[Fault]:
        """Cut a client off."""
        return partition(self.cluster, client, servers_hit(fault, self.sides), fault.direction)

    def hit(self, fault: ServerFault, wait: Callable[[Span], None]) -> AbstractContextManager[Fault]:
        """Do to servers what is to be done to them; `wait` lasts so long, or until the run is over."""
        servers = servers_hit(fault, self.sides)
        if isinstance(fault, FailoverSpec):
            primary, replica = servers
            hold = partial(wait, fault.held) if fault.held else None
            return failover(self.cluster, self.name(fault), Link(replica, primary), range(self.clients), hold)
        if isinstance(fault, ClockSpec):
            return clock_jump(self.cluster, self.name(fault), servers, fault.jump)
        return kill(self.cluster, self.name(fault), servers, self._edges(servers))

    def _edges(self, servers: Sequence[str]) -> AbstractSet[Edge]:
        return {Edge(client, server) for client in range(self.clients) for server in servers}
