"""Kill: servers end at once (SIGKILL), and start again later with what they had on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from harness.engines import Cluster
from harness.nemesis.fault import Fault
from harness.nemesis.proof import Probes, ms
from harness.network.topology import Edge


@contextmanager
def kill(cluster: Cluster, target: str, servers: Sequence[str], edges: AbstractSet[Edge]) -> Iterator[Fault]:
    """Have servers down until the block ends; `edges` are the ways to them, and prove it.

    In force means: they were seen ended, and over each edge there is silence where there was an
    answer just before. Healed means: each is usable, and answers over every edge.
    Raises FaultNotInstalledError where that is not seen, ServerNotReadyError where one does not start.
    """
    probes = Probes.of(cluster, "kill", target, edges)
    before = probes.prove_whole()
    try:
        ended = cluster.kill(servers)
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
        cluster.start_again(servers)
        taken = probes.prove_whole_again()
    fault.healed = f"{', '.join(servers)} usable again, and answered over every edge within {ms(taken)}"
