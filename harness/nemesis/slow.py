"""Slow: what a client sends to some servers arrives late by varying times, or at a low rate.

Nothing is held back for long, as in a delay, and nothing is lost: this is a bad network, not a broken one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import FaultKind
from harness.core.duration import NS, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Duration, Length
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait
from harness.nemesis.edge_probes import ANSWER_TIMEOUT, Probes, ms, proxies_of
from harness.nemesis.fault import GoOn, InForce, InjectedFault
from harness.nemesis.fields import Rate, Side, Victim, named_servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.network.probe import replies
from harness.network.topology import NetworkEdge, Way

LEAST = 50 * NS["ms"]
MOST = 10 * NS["s"]
TRIES = 3  # answers over each edge before the network is slow: the quickest counts
PROVING = 10.0  # s, beyond the longest jitter, until an answer over each edge was late; usually 1
CROSSINGS = 3  # of an edge that a request on a new connection needs: two more with TLS


class SlowSpec(BaseModel):
    """What a client sends to the lock service, the storage, or some servers is late, or slow."""

    model_config = STRICT
    called: ClassVar[str] = "slow network"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="had a slow network",
        now="has a slow network",
        afterwards="has a fast network again",
        short="slow network",
        count="slow_networks",
    )
    counts: ClassVar[tuple[str, ...]] = ("slow_networks", "grants_to_others")
    traits: ClassVar[Trait] = Trait.NEEDS_PROTOCOL
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder", "to": "both"}
    engine_need: ClassVar[Literal["partitions"]] = "partitions"
    at: ClassVar[None] = None
    until: ClassVar[None] = None
    unserved: ClassVar[str] = "no message to {} can be slowed down"

    kind: Literal["slow"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    side: Side = Field(alias="to")
    """The side that it sends to, or a list of servers, such as ["redis-4", "redis-5"]."""
    jitter: Duration | None = None
    """What it sends arrives late, each time by another random time up to this; in order."""
    rate: Rate | None = None
    """What it sends arrives at this rate on each connection, such as "10KB/s"."""
    every: Length | None = None
    """It happens once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long."""
    when: When = None

    @model_validator(mode="after")
    def _is_slow_in_some_way(self) -> Self:
        if self.jitter is None and self.rate is None:
            raise ValueError("a slow network needs jitter, or rate, or both")
        if self.jitter is not None and not LEAST <= self.jitter <= MOST:
            raise ValueError(f"jitter must be {format_duration(LEAST)} to {format_duration(MOST)}")
        return self

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the messages are for."""
        return named_servers(self.side)

    def needs(self, reach: FaultReach, client: int) -> Needs:
        """Return the edges that are slow."""
        return {NetworkEdge(client, server) for server in reach.servers(self.aim())}

    def in_force_on(self, reach: FaultReach, client: int, _go_on: GoOn | None) -> InForce:
        """Slow down what a client sends from now on."""
        return slow(reach.cluster, client, reach.servers(self.aim()), jitter=self.jitter, rate=self.rate)

    def contradictions(self, _index: int, _sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield nothing: any client may have a slow network."""
        return iter(())


@contextmanager
def slow(
    cluster: Cluster, client: int, servers: Sequence[str], *, jitter: int | None, rate: int | None
) -> Iterator[InjectedFault]:
    """Slow down what a client sends to these servers until the block ends: `jitter` in ns, `rate` in KB/s.

    In force means: Toxiproxy shows the toxics on every edge, and with jitter, an answer over each came
    late. Healed means: Toxiproxy shows none, and every server answers.
    Raises FaultNotInstalledError if that is not observed. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = proxies_of(cluster, "slow", target)
    probes = Probes.of(cluster, "slow", target, (NetworkEdge(client, name) for name in servers))
    before = min(probes.prove_whole() for _ in range(TRIES))  # on a busy machine, one may take very long
    try:
        spread = (jitter or 0) // NS["ms"]
        toxics = (toxiproxy.slow(edge, "to-server", rate=rate or 0, spread=spread) for edge in probes.edges)
        shown = {str(each) for each in toxics}
        since = time.monotonic_ns()
        late = "" if jitter is None else f", and came {ms(_prove_late(probes, before, jitter))} late since"
        evidence = (
            f"messages to {', '.join(servers)} are slow: Toxiproxy shows {', '.join(shown)}; "
            f"answers took {ms(before)} before{late}"
        )
        fault = InjectedFault("slow", target, evidence=evidence, since=since)
        yield fault
        fault.until = time.monotonic_ns()
    finally:
        probes.heal(toxiproxy)
        taken = probes.prove_whole_again()
    fault.healed = f"Toxiproxy shows no toxic, and every server answered within {ms(taken)}"


def _prove_late(probes: Probes, before: float, jitter: int) -> float:
    """Wait until an answer over each edge was late by a good part of the jitter; return the least (s)."""
    longest = jitter / NS["s"]
    within = CROSSINGS * longest + ANSWER_TIMEOUT
    deadline = time.monotonic() + PROVING + CROSSINGS * longest
    late: dict[Way, float] = {}
    while len(late) < len(probes.edges):
        if time.monotonic() > deadline:
            on_time = ", ".join(sorted(str(edge) for edge in probes.edges if edge not in late))
            raise FaultNotInstalledError(probes.kind, probes.target, f"{on_time} still answers in time")
        for edge, taken in replies(probes.edges, within).items():
            if taken is not None and taken - before > longest / 4:
                late.setdefault(edge, taken - before)
    return min(late.values())
