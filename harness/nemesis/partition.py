"""Partition: a client and some servers cannot hear each other, or one side cannot hear the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.engines import Address, Cluster
from harness.errors import FaultNotInstalledError, InfrastructureError
from harness.nemesis.fault import Fault
from harness.network.probe import replies
from harness.network.topology import Direction, Edge
from harness.network.toxiproxy import Toxiproxy

ANSWER_TIMEOUT = 2.0  # s; over an edge that is whole
SILENCE = 0.25  # s without an answer, at least, prove a cut; it took milliseconds just before
PATIENCE = 4  # times as long as an answer took just before, if that is more
HEALING = 5.0  # s until every edge must have answered again

Probes = Mapping[Edge, tuple[Address, str]]  # where to ask, and which system answers there


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
    probes = _probes(cluster, client, servers)
    before = _prove_whole(target, probes)
    try:
        shown = {str(toxiproxy.cut(edge, direction)) for edge in probes}
        silence = _prove_silent(target, probes, before)
        fault = Fault(
            "partition",
            target,
            evidence=f"cut off from {', '.join(servers)} ({direction}): Toxiproxy shows {', '.join(shown)}; "
            f"answers took {_ms(before)} before, none came in {_ms(silence)} since",
        )
        yield fault
    finally:
        healed = _heal(toxiproxy, target, probes)
    fault.healed = healed


def _probes(cluster: Cluster, client: int, servers: Sequence[str]) -> Probes:
    systems = {server.name: server.system for server in cluster.servers}
    return {Edge(client, name): (cluster.edge(client, name), systems[name]) for name in servers}


def _prove_whole(target: str, probes: Probes) -> float:
    """Return how long the slowest answer took (s): without one, silence would prove nothing."""
    answers = replies(probes, ANSWER_TIMEOUT)
    silent = [edge for edge, seconds in answers.items() if seconds is None]
    if silent:
        raise FaultNotInstalledError(
            "partition", target, f"{_list(silent)} did not answer before the cut either"
        )
    return max(seconds for seconds in answers.values() if seconds is not None)


def _prove_silent(target: str, probes: Probes, before: float) -> float:
    """Return how long there was silence (s)."""
    silence = max(SILENCE, PATIENCE * before)
    talking = [edge for edge, seconds in replies(probes, silence).items() if seconds is not None]
    if talking:
        raise FaultNotInstalledError("partition", target, f"{_list(talking)} still answers")
    return silence


def _heal(toxiproxy: Toxiproxy, target: str, probes: Probes) -> str:
    """Heal every edge, the others too where one fails, and return what proved it."""
    failures = []
    for edge in probes:
        try:
            toxiproxy.heal(edge)
        except InfrastructureError as error:
            failures.append(str(error))
    if failures:
        raise FaultNotInstalledError("end of the partition", target, "; ".join(failures))
    started = time.monotonic()
    silent = set(probes)
    while silent:
        if time.monotonic() > started + HEALING:
            seen = f"{_list(silent)} does not answer {HEALING:g} s after it"
            raise FaultNotInstalledError("end of the partition", target, seen)
        answers = replies({edge: probes[edge] for edge in silent}, SILENCE)
        silent = {edge for edge, seconds in answers.items() if seconds is None}
    taken = time.monotonic() - started
    return f"Toxiproxy shows no toxic, and every server answered within {_ms(taken)}"


def _list(edges: Sequence[Edge] | set[Edge]) -> str:
    return ", ".join(sorted(map(str, edges)))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
