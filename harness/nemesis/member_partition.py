"""Partition of members: some members of a cluster and the others no longer reach each other.

Which members are on which side is decided when it begins: a leader is known only then. A client
may be cut off with the target's side: it then reaches only that, and all other clients only the
rest, as when a network falls into two parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.clients.shared_state import ANY
from harness.core.errors import FaultNotInstalledError
from harness.nemesis.contradictions import Contradiction, Sections, sides
from harness.nemesis.edge_probes import HEALING, Probes, ms
from harness.nemesis.fault import Fault
from harness.nemesis.leader import side_of
from harness.nemesis.reach import Reach
from harness.nemesis.triggers import Victim
from harness.network.systems import MEMBERS, SYSTEMS, members_of
from harness.network.topology import FOLLOWERS, Address, Direction, Edge, Link, Server, Way
from harness.processes.server_failure import not_ready

if TYPE_CHECKING:
    from harness.engines.engine import Cluster
    from harness.network.toxiproxy import Toxiproxy

Shape = Literal["isolated", "halves", "bridge"]
MemberDirection = Literal["both", "outgoing", "incoming"]
POLL = 0.05  # s
HOLDER = 10.0  # s until a client must hold the lock
HANGING_UP = {system for system, members in MEMBERS.items() if b"" in members.answers}
OF_LINKS: Mapping[MemberDirection, tuple[Direction, Direction]] = {
    "both": ("both", "both"),
    "outgoing": ("to-server", "to-client"),
    "incoming": ("to-client", "to-server"),
}
"""What is lost on a link from the target's side to the other, and on one from there: either side may
have opened the connection over which the other sends."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a partition."""

    near: tuple[str, ...]  # the target's
    far: tuple[str, ...]
    between: tuple[str, ...] = ()  # reach both

    @property
    def members(self) -> frozenset[str]:
        """All members of the cluster."""
        return frozenset({*self.near, *self.far, *self.between})

    def __str__(self) -> str:
        return f"{', '.join(self.near)} from {', '.join(self.far)}"


def sides_of(shape: Shape, target: str, members: Sequence[str]) -> Sides:
    """Divide the members of a cluster.

    isolated: the target and all others. halves: the target and as many more as still are a minority,
    and the rest. bridge: two halves of the others; only the target reaches both.
    """
    others = tuple(name for name in members if name != target)
    if shape == "isolated":
        return Sides((target,), others)
    half = (len(members) - 1) // 2
    if shape == "bridge":
        return Sides(others[:half], others[half:], (target,))
    return Sides((target, *others[: half - 1]), others[half - 1 :])


def divided(reach: Reach, sides: Sides, along: str) -> tuple[Edge, ...]:
    """Return the edges to cut so that one client reaches only the target's side, and the others the rest.

    Raises FaultNotInstalledError if no client fits, such as a holder, for as long as one may take.
    """
    inside = _client(reach, Victim.named(along), along)
    return tuple(
        Edge(client, server)
        for client in reach.clients
        for server in (sides.far if client == inside else sides.near)
    )


def _client(reach: Reach, victim: Victim, along: str) -> int:
    if victim.client != ANY:
        return victim.client
    deadline = time.monotonic() + HOLDER
    while reach.state and time.monotonic() < deadline:
        for client, resource, _ in reach.state.holders():
            if victim.resource in (ANY, resource):
                return client
        time.sleep(POLL)
    raise FaultNotInstalledError("partition", along, "no client holds the lock")


def never_split(index: int, target: str, shape: Shape | None, sections: Sections) -> Iterator[Contradiction]:
    """Yield targets that are no member of a cluster, and clusters that are too small for the shape."""
    key = ("faults", index, "target")
    of = [side for name, side in sides(sections).items() if side and side_of(target) in (name, *side.servers)]
    if not of or not of[0].servers:
        return  # an error of its own
    members, system = of[0].servers, of[0].system
    if system not in MEMBERS and not set(FOLLOWERS) & set(members):
        yield Contradiction(
            key, "cannot be cut off: only members of etcd and ZooKeeper can be, and a replica or standby"
        )
    elif len(members) < (3 if shape == "bridge" else 2):
        yield Contradiction(key, f"cannot be divided: there is only {', '.join(members)}")


@contextmanager
def partition_members(
    cluster: Cluster,
    target: str,
    sides: Sides,
    direction: MemberDirection = "both",
    cut_edges: Sequence[Edge] = (),
) -> Iterator[Fault]:
    """Cut the links between two sides, and some edges of clients, until the block ends.

    In force means: Toxiproxy shows every cut, and each link and edge that answered just before is
    silent. Healed means: Toxiproxy shows no cut, each answers again, every member serves requests,
    and one of them leads. The evidence says what the members reported just before it was healed.
    Raises FaultNotInstalledError or ServerNotReadyError if that is not observed.
    """
    toxiproxy = cluster.toxiproxy
    cuts = {link: lost for link in cluster.links if (lost := _lost(link, sides, direction))}
    if toxiproxy is None or not cuts:
        raise FaultNotInstalledError("partition", target, f"there are no proxies between {sides}")
    members = [server for server in cluster.servers if server.name in sides.members]
    probes = _probes(cluster, target, cuts, cut_edges)
    before, led = probes.prove_whole(), _reports(members)
    try:
        shown = {str(toxiproxy.cut(way, lost)) for way, lost in cuts.items()}
        shown |= {str(toxiproxy.cut(edge, "both")) for edge in cut_edges}
        silence = probes.prove_silent(before)
        evidence = (
            f"cut {sides} ({direction}; links: {len(cuts)}, edges of clients: {len(cut_edges)}"
            f"{_along(sides, cut_edges)}): "
            f"Toxiproxy shows {', '.join(sorted(shown))}; answers took {ms(before)} before, "
            f"none came in {ms(silence)} since; before it, {led}"
        )
        fault = Fault("partition", target, evidence=evidence)
        yield fault
        meanwhile = _reports(members)
    finally:
        _heal(toxiproxy, probes, tuple(cuts))
        taken = probes.prove_whole_again()
    _prove_one_cluster(cluster, members)
    fault.healed = (
        f"just before, {meanwhile}; now Toxiproxy shows no toxic, every link and edge answered within "
        f"{ms(taken)}, and {_reports(members)}"
    )


def _along(sides: Sides, cut_edges: Sequence[Edge]) -> str:
    """Say which client reaches only the target's side."""
    inside = dict.fromkeys(edge.client for edge in cut_edges if edge.server in sides.far)
    return "".join(f"; client {client} reaches only {', '.join(sides.near)}" for client in inside)


def _lost(link: Link, sides: Sides, direction: MemberDirection) -> Direction | None:
    """Return what is lost on a link; None if it does not lead from one side to the other."""
    if link.source in sides.near and link.server in sides.far:
        return OF_LINKS[direction][0]
    if link.source in sides.far and link.server in sides.near:
        return OF_LINKS[direction][1]
    return None


def _probes(cluster: Cluster, target: str, cuts: Mapping[Link, Direction], edges: Sequence[Edge]) -> Probes:
    """Probe what is cut, except links that lose only answers, to servers whose answer is to hang up.

    Toxiproxy passes on the end of a connection.
    """
    systems = {server.name: server.system for server in cluster.servers}
    of_edges = Probes.of(cluster, "partition", target, edges)
    of_links: dict[Way, tuple[Address, str]] = {
        link: (address, members_of(system) if (system := systems[link.server]) in MEMBERS else system)
        for link, lost in cuts.items()
        if (address := cluster.links[link])
        and not (lost == "to-client" and systems[link.server] in HANGING_UP)
    }
    return Probes(kind="partition", target=target, edges={**of_links, **of_edges.edges})


def _heal(toxiproxy: Toxiproxy, probes: Probes, links: Sequence[Link]) -> None:
    """Heal everything that was cut: some links cannot be probed."""
    unprobed = {link: None for link in links if link not in probes.edges}
    try:
        for link in unprobed:
            toxiproxy.heal(link)
    finally:
        probes.heal(toxiproxy)


def _reports(members: Sequence[Server]) -> str:
    """Say what each member reports of itself, over the harness' own way to it."""
    return ", ".join(f"{member.name} {_report(member)}" for member in members)


def _report(member: Server) -> str:
    system = SYSTEMS[member.system]
    if system.leads is not None and system.leads(member.address):
        return "leads"
    serves = (system.is_led or system.is_usable)(member.address)
    return "serves" if serves else "does not serve"


def _prove_one_cluster(cluster: Cluster, members: Sequence[Server]) -> None:
    """Wait until every member serves requests, and exactly one leads, if any of them does."""
    deadline = time.monotonic() + HEALING
    while unwell := _outside(members):
        if time.monotonic() > deadline:
            seen = f"is not part of one cluster {HEALING:g} s after a partition: {_reports(members)}"
            raise not_ready(unwell[0], seen, cluster.logs()[unwell[0]])
        time.sleep(POLL)


def _outside(members: Sequence[Server]) -> list[str]:
    """Return the members that serve no requests, or all of them unless exactly one leads."""
    can_lead = any(SYSTEMS[member.system].leads for member in members)
    if can_lead and [_report(member) for member in members].count("leads") != 1:
        return [member.name for member in members]
    return [member.name for member in members if not SYSTEMS[member.system].is_usable(member.address)]
