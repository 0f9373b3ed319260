"""Partition of members: some members of a cluster and the others no longer reach each other.

Which members are on which side is decided when it begins: a leader is known only then. A client
may be cut off with the target's side: it then reaches only that, and all other clients only the
rest, as when a network falls into two parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from harness.clients.shared_state import ANY
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, sides
from harness.nemesis.edge_probes import ms
from harness.nemesis.fault import InjectedFault, polls
from harness.nemesis.leader import never_leads, side_of
from harness.nemesis.member_links import MemberDirection, Sides, links_hit
from harness.nemesis.reach import FaultReach
from harness.nemesis.triggers import Victim
from harness.network.members import MEMBERS
from harness.network.topology import FOLLOWERS, NetworkEdge

Shape = Literal["isolated", "halves", "bridge"]
POLL = 0.05  # s
HOLDER = 10.0  # s until a client must hold the lock


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


def divided(reach: FaultReach, sides: Sides, along: str) -> tuple[NetworkEdge, ...]:
    """Return the edges to cut so that one client reaches only the target's side, and the others the rest.

    Raises FaultNotInstalledError if no client fits, such as a holder, for as long as one may take.
    """
    inside = _client(reach, Victim.named(along), along)
    return tuple(
        NetworkEdge(client, server)
        for client in reach.clients
        for server in (sides.far if client == inside else sides.near)
    )


def _client(reach: FaultReach, victim: Victim, along: str) -> int:
    if victim.client != ANY:
        return victim.client
    for _ in polls(HOLDER, POLL):
        for client, resource, _token in reach.state.holders() if reach.state else ():
            if victim.resource in (ANY, resource):
                return client
    raise FaultNotInstalledError("partition", along, "no client holds the lock")


def never_split(
    index: int, target: str, shape: Shape | None, sections: OtherSections, be: str = "cut off"
) -> Iterator[SettingConflict]:
    """Yield targets that are no member of a cluster, or lead none, and clusters too small for the shape."""
    key = ("faults", index, "target")
    of = [side for name, side in sides(sections).items() if side and side_of(target) in (name, *side.servers)]
    if not of or not of[0].servers:
        return  # an error of its own
    members, system = of[0].servers, of[0].system
    if system not in MEMBERS and not set(FOLLOWERS) & set(members):
        problem = "only members of etcd and ZooKeeper can be, and a replica or standby"
        yield SettingConflict(key, f"cannot be {be}: {problem}")
        return
    yield from never_leads(index, target, sections)
    if len(members) < (3 if shape == "bridge" else 2):
        yield SettingConflict(key, f"cannot be {be}: there is only {', '.join(members)}")


@contextmanager
def partition_members(
    cluster: Cluster,
    target: str,
    sides: Sides,
    direction: MemberDirection = "both",
    cut_edges: Sequence[NetworkEdge] = (),
) -> Iterator[InjectedFault]:
    """Cut the links between two sides, and some edges of clients, until the block ends.

    In force means: Toxiproxy shows every cut, and each link and edge that answered just before is
    silent. Healed means what `links_hit` says.
    """
    with links_hit(cluster, "partition", target, sides, direction, cut_edges) as hit:
        shown = {str(hit.toxiproxy.cut(way, lost)) for way, lost in hit.links.items()}
        shown |= {str(hit.toxiproxy.cut(edge, "both")) for edge in cut_edges}
        silence = hit.probes.prove_silent(hit.before)
        evidence = (
            f"cut {sides} ({direction}; links: {len(hit.links)}, edges of clients: {len(cut_edges)}"
            f"{_along(sides, cut_edges)}): "
            f"Toxiproxy shows {', '.join(sorted(shown))}; answers took {ms(hit.before)} before, "
            f"none came in {ms(silence)} since; before it, {hit.led}"
        )
        fault = InjectedFault("partition", target, evidence=evidence)
        yield fault
    fault.healed = hit.healed


def _along(sides: Sides, cut_edges: Sequence[NetworkEdge]) -> str:
    """Say which client reaches only the target's side."""
    inside = dict.fromkeys(edge.client for edge in cut_edges if edge.server in sides.far)
    return "".join(f"; client {client} reaches only {', '.join(sides.near)}" for client in inside)
