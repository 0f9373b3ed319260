"""Partition: a client and some servers cannot hear each other, or one side cannot hear the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from harness.engines import Cluster
from harness.errors import FaultNotInstalledError, InfrastructureError
from harness.nemesis.fault import Fault
from harness.nemesis.proof import Probes, ms
from harness.network.topology import Direction, Edge
from harness.network.toxiproxy import Toxiproxy


@contextmanager
def partition(
    cluster: Cluster, client: int, servers: Sequence[str], direction: Direction = "both"
) -> Iterator[Fault]:
    """Cut the edges from a client to these servers until the block ends.

    In force means: Toxiproxy shows every cut, and over each edge there is silence where there
    was an answer just before. Healed means: Toxiproxy shows no cut, and every server answers.
    Raises FaultNotInstalledError where that is not seen. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = cluster.toxiproxy
    if toxiproxy is None:
        raise FaultNotInstalledError("partition", target, "no proxy stands between it and the servers")
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
        _heal(toxiproxy, target, probes.edges)
        taken = probes.prove_whole_again()
    fault.healed = f"Toxiproxy shows no toxic, and every server answered within {ms(taken)}"


def _heal(toxiproxy: Toxiproxy, target: str, edges: Iterable[Edge]) -> None:
    """Heal every edge, the others too where one fails."""
    failures = []
    for edge in edges:
        try:
            toxiproxy.heal(edge)
        except InfrastructureError as error:
            failures.append(str(error))
    if failures:
        raise FaultNotInstalledError("end of the partition", target, "; ".join(failures))
