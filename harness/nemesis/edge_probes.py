"""What proves a fault on edges: an answer before it, silence in it, an answer after it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.network.probe import replies
from harness.network.topology import Address, Edge

ANSWER_TIMEOUT = 2.0  # s; over an edge that is whole
SILENCE = 0.25  # s without an answer, at least, prove a cut; it took milliseconds just before
PATIENCE = 4  # times as long as an answer took just before, if that is more
HEALING = 15.0  # s until every edge must have answered again; it takes one, on a busy machine more


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Questions over edges, on behalf of one fault. Every method may raise FaultNotInstalledError."""

    kind: str  # of the fault, for errors
    target: str
    edges: Mapping[Edge, tuple[Address, str]]  # where to ask, and which system answers there

    @classmethod
    def of(cls, cluster: Cluster, kind: str, target: str, edges: Iterable[Edge]) -> Probes:
        """Find out where to ask; by the client's own way to each server."""
        systems = {server.name: server.system for server in cluster.servers}
        where = {edge: (cluster.edge(edge.client, edge.server), systems[edge.server]) for edge in edges}
        return cls(kind=kind, target=target, edges=where)

    def prove_whole(self) -> float:
        """Return how long the slowest answer took (s): without one, silence would prove nothing."""
        answers = replies(self.edges, ANSWER_TIMEOUT)
        if silent := [edge for edge, seconds in answers.items() if seconds is None]:
            raise FaultNotInstalledError(
                self.kind, self.target, f"{_list(silent)} did not answer before the {self._what} either"
            )
        return max(seconds for seconds in answers.values() if seconds is not None)

    def prove_silent(self, before: float) -> float:
        """Return how long there was silence (s), where answers took as long as `before` (s)."""
        silence = max(SILENCE, PATIENCE * before)
        talking = [edge for edge, seconds in replies(self.edges, silence).items() if seconds is not None]
        if talking:
            raise FaultNotInstalledError(self.kind, self.target, f"{_list(talking)} still answers")
        return silence

    def prove_whole_again(self) -> float:
        """Wait until every server has answered, and return how long that took (s)."""
        started = time.monotonic()
        silent = set(self.edges)
        while silent:
            if time.monotonic() > started + HEALING:
                seen = f"{_list(silent)} does not answer {HEALING:g} s after it"
                raise FaultNotInstalledError(f"end of the {self.kind}", self.target, seen)
            answers = replies({edge: self.edges[edge] for edge in silent}, SILENCE)
            silent = {edge for edge, seconds in answers.items() if seconds is None}
        return time.monotonic() - started

    @property
    def _what(self) -> str:
        return "cut" if self.kind == "partition" else self.kind


def ms(seconds: float) -> str:
    """Write seconds as milliseconds."""
    return f"{seconds * 1000:.0f} ms"


def _list(edges: Iterable[Edge]) -> str:
    return ", ".join(sorted(map(str, edges)))
