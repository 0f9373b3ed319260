"""Proof of a fault on edges: an answer before it, silence during it, an answer after it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import FaultNotInstalledError, InfrastructureError
from harness.engines.engine import Cluster
from harness.nemesis.fault import InjectedFault
from harness.network.members import keeps_silence
from harness.network.probe import SentProbe, answers, replies
from harness.network.topology import Address, Link, NetworkEdge, Way

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

ANSWER_TIMEOUT = 2.0  # s; over a healthy edge
SILENCE = 0.25  # s; the minimum silence that proves a cut, after answers within milliseconds
PATIENCE = 4  # the silence lasts at least this many times the slowest answer before the cut
HEALING = 15.0  # s until every edge must answer again; usually 1, more on a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Probes over edges for one fault. Every method may raise FaultNotInstalledError."""

    kind: str  # of the fault, for errors
    target: str
    edges: Mapping[Way, tuple[Address, str]]  # the address to probe, and the system there
    unprobed: tuple[Way, ...] = ()  # edges to servers whose protocol we do not know

    @classmethod
    def of(cls, cluster: Cluster, kind: str, target: str, edges: Iterable[NetworkEdge]) -> Probes:
        """Look up the client's own address of each server."""
        systems = {server.name: server.system for server in cluster.servers}
        every = tuple(edges)
        where: dict[Way, tuple[Address, str]] = {
            edge: (cluster.edge(edge.client, edge.server), systems[edge.server])
            for edge in every
            if systems[edge.server]
        }
        unprobed = tuple(edge for edge in every if edge not in where)
        return cls(kind=kind, target=target, edges=where, unprobed=unprobed)

    @property
    def ways(self) -> tuple[Way, ...]:
        """All edges of the fault."""
        return (*self.edges, *self.unprobed)

    def prove_whole(self) -> float:
        """Return the time of the slowest answer (s): without answers, silence would prove nothing."""
        answers = replies(self.edges, ANSWER_TIMEOUT)
        if silent := [edge for edge, seconds in answers.items() if seconds is None]:
            what = "cut" if self.kind == "partition" else self.kind
            seen = f"{_list(silent)} did not answer before the {what} either"
            raise FaultNotInstalledError(self.kind, self.target, seen)
        return max((seconds for seconds in answers.values() if seconds is not None), default=0.0)

    def prove_silent(self, before: float, at_most: float = math.inf) -> float:
        """Return how long there was silence (s); `before` (s) is the slowest answer before the fault.

        Answers that are only late come later than `at_most` (s).
        """
        longest = min((keeps_silence(system) for _, system in self.edges.values()), default=0.0)
        silence = min(silence_after(before), at_most, longest)
        talking = [edge for edge, seconds in replies(self.edges, silence).items() if seconds is not None]
        if talking:
            raise FaultNotInstalledError(self.kind, self.target, f"{_list(talking)} still answers")
        return silence

    def prove_whole_again(self) -> float:
        """Wait until every server answers, and return how long that took (s)."""
        started = time.monotonic()
        silent = set(self.edges)
        within = SILENCE
        while silent:
            if time.monotonic() > started + HEALING:
                seen = f"{_list(silent)} does not answer {HEALING:g} s after it"
                raise FaultNotInstalledError(f"end of the {self.kind}", self.target, seen)
            answers = replies({edge: self.edges[edge] for edge in silent}, within)
            silent = {edge for edge, seconds in answers.items() if seconds is None}
            within = min(2 * within, ANSWER_TIMEOUT)  # a server with work to catch up on is slower
        return time.monotonic() - started

    def heal(self, toxiproxy: Toxiproxy) -> None:
        """Heal every edge, even if one fails."""
        failures = []
        for edge in self.ways:
            try:
                toxiproxy.heal(edge)
            except InfrastructureError as error:
                failures.append(str(error))
        if failures:
            raise FaultNotInstalledError(f"end of the {self.kind}", self.target, "; ".join(failures))

    def silence_in_words(self, before: float, silence: float) -> str:
        """Say what the probes showed: answers before the fault, and silence since (s)."""
        if not self.edges:
            return "no request was sent over it, because Fencepost does not know its protocol"
        return f"answers took {ms(before)} before, none came in {ms(silence)} since"

    def healing_in_words(self, taken: float) -> str:
        """Say what the probes showed after the fault, which took so long (s)."""
        return f", and every server answered within {ms(taken)}" if self.edges else ""

    def prove_held(self, sent: Mapping[Way, SentProbe], before: float) -> float:
        """Return how long what was sent on each edge had no answer (s); `before` (s) is as above."""
        silence = silence_after(before)
        if answered := answers(sent, silence, at_least=1):
            raise FaultNotInstalledError(self.kind, self.target, f"{_list(answered)} still answers")
        return silence

    def prove_delivered(self, sent: Mapping[Way, SentProbe]) -> float:
        """Wait until all that was held back is answered, and return how long that took (s)."""
        started = time.monotonic()
        answered = answers(sent, HEALING, at_least=len(sent))
        if lost := sent.keys() - answered:
            seen = f"what was held back on {_list(lost)} had no answer"
            raise FaultNotInstalledError(f"end of the {self.kind}", self.target, seen)
        return time.monotonic() - started


@contextmanager
def silenced(probes: Probes, stop: Callable[[], str], go_on: Callable[[], str]) -> Iterator[InjectedFault]:
    """Stop servers until the block ends: both functions return what was observed of them."""
    before = probes.prove_whole()
    try:
        stopped = stop()
        since = time.monotonic_ns()
        silence = probes.prove_silent(before)
        evidence = f"{stopped}; answers took {ms(before)} before, none came in {ms(silence)} since"
        fault = InjectedFault(probes.kind, probes.target, evidence=evidence, since=since)
        yield fault
    finally:
        running = go_on()
        taken = probes.prove_whole_again()
    fault.healed = f"{running}, and answered over every edge within {ms(taken)}"


def proxies_of(cluster: Cluster, kind: str, target: str) -> Toxiproxy:
    """Return the proxies of the edges; FaultNotInstalledError without any."""
    if cluster.toxiproxy is None:
        raise FaultNotInstalledError(kind, target, "there are no proxies in front of the servers")
    return cluster.toxiproxy


def held_link(toxiproxy: Toxiproxy, link: Link, hold: Callable[[], None]) -> str:
    """Hold the link to a replica until `hold` returns, and return the evidence."""
    since = time.monotonic()
    shown = toxiproxy.hold(link)
    hold()
    return f"its link was held for {ms(time.monotonic() - since)} (Toxiproxy shows {shown})"


def silence_after(before: float) -> float:
    """Return how long silence must last (s) as proof; `before` (s) is the slowest answer before it."""
    return max(SILENCE, PATIENCE * before)


def ms(seconds: float) -> str:
    """Format seconds as milliseconds."""
    return f"{seconds * 1000:.0f} ms"


def _list(edges: Iterable[Way]) -> str:
    return ", ".join(sorted(map(str, edges)))
