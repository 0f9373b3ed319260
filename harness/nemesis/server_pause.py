"""Pause of servers: all their processes are stopped, and later continued with everything they had in memory.

Their connections stay open, and requests wait in their sockets: those are carried out afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import InjectedFault
from harness.network.topology import NetworkEdge

if TYPE_CHECKING:
    from harness.engines.engine import Cluster


@contextmanager
def pause_servers(
    cluster: Cluster, target: str, servers: Sequence[str], edges: AbstractSet[NetworkEdge]
) -> Iterator[InjectedFault]:
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
        fault = InjectedFault("pause", target, evidence=evidence, since=since)
        yield fault
        if fault.until is None:
            fault.until = time.monotonic_ns()  # from here on they may answer
    finally:
        running = cluster.resume(servers)
        taken = probes.prove_whole_again()
    fault.healed = f"{running}, and answered over every edge within {ms(taken)}"
