"""Pause of servers: all their processes are stopped, and later continued with everything they had in memory.

Their connections stay open, and requests wait in their sockets: those are carried out afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.core.errors import FaultNotInstalledError
from harness.nemesis.contradictions import Contradiction, Sections, sides
from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import Fault
from harness.network.systems import SYSTEMS
from harness.network.topology import Edge

if TYPE_CHECKING:
    from harness.engines.engine import Cluster

LEADER = ":leader"
ELECTION = 10.0  # s until a member must lead; usually 2
POLL = 0.05  # s


@contextmanager
def pause_servers(
    cluster: Cluster, target: str, servers: Sequence[str], edges: AbstractSet[Edge]
) -> Iterator[Fault]:
    """Keep servers stopped until the block ends; `edges` lead to them, and prove it.

    In force means: the engine sees all their processes stopped, and each edge that answered just
    before is silent. Healed means: it sees them running, and each answers over every edge.
    Raises FaultNotInstalledError or InfrastructureError if that is not observed.
    """
    probes = Probes.of(cluster, "pause", target, edges)
    before = probes.prove_whole()
    try:
        stopped = cluster.pause(servers)
        since = time.monotonic_ns()
        silence = probes.prove_silent(before)
        evidence = f"{stopped}; answers took {ms(before)} before, none came in {ms(silence)} since"
        fault = Fault("pause", target, evidence=evidence, since=since)
        yield fault
        fault.until = time.monotonic_ns()  # from here on they may answer
    finally:
        running = cluster.resume(servers)
        taken = probes.prove_whole_again()
    fault.healed = f"{running}, and answered over every edge within {ms(taken)}"


def leader_of(cluster: Cluster, servers: Sequence[str]) -> str:
    """Return the name of the server that leads now, by its own account.

    Raises FaultNotInstalledError if none does for as long as an election may take.
    """
    members = [server for server in cluster.servers if server.name in servers]
    deadline = time.monotonic() + ELECTION
    while time.monotonic() < deadline:
        for server in members:
            leads = SYSTEMS[server.system].leads
            if leads is not None and leads(server.address):
                return server.name
        time.sleep(POLL)
    raise FaultNotInstalledError("fault on the leader", ", ".join(servers), "none of them says that it leads")


def never_leads(index: int, target: str, sections: Sections) -> Iterator[Contradiction]:
    """Yield a leader among servers that have none."""
    side = sides(sections).get(target.removesuffix(LEADER)) if target.endswith(LEADER) else None
    if side is not None and side.servers and SYSTEMS[side.system].leads is None:
        instead = f'give "{target.removesuffix(LEADER)}", or one by its name'
        yield Contradiction(("faults", index, "target"), f"{side.system} has no leader: {instead}")
