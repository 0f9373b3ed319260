"""Links between members of a cluster: the data that a fault concerns, proofs over them, and the members.

Either member of a pair may have opened the connection over which the other sends, so what one side
sends is in both directions of links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.files.logs import not_ready
from harness.nemesis.contradictions import OtherSections, SettingConflict, sides
from harness.nemesis.edge_probes import HEALING, Probes, ms
from harness.nemesis.fault import polls
from harness.nemesis.leader import never_leads, side_of
from harness.network.members import MEMBERS, members_of
from harness.network.systems import SYSTEMS
from harness.network.topology import FOLLOWERS, Address, Direction, Link, NetworkEdge, Server, Way

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

MemberDirection = Literal["both", "outgoing", "incoming"]
"""What the near side sends, what it hears, or both."""
POLL = 0.05  # s
Shape = Literal["isolated", "halves", "bridge"]
HANGING_UP = {system for system, members in MEMBERS.items() if b"" in members.answers}
SPEAKING_FIRST = {system for system, members in MEMBERS.items() if members.speaks_first}
UNPROVED: Mapping[Direction, AbstractSet[str]] = {"to-client": HANGING_UP, "to-server": SPEAKING_FIRST}
"""For links hit in one direction, the systems whose answers come through all the same."""
OF_LINKS: Mapping[MemberDirection, tuple[Direction, Direction]] = {
    "both": ("both", "both"),
    "outgoing": ("to-server", "to-client"),
    "incoming": ("to-client", "to-server"),
}
"""The direction of a link from the near side to the far one, and of a link from there."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides of a cluster."""

    near: tuple[str, ...]  # the target's
    far: tuple[str, ...]
    between: tuple[str, ...] = ()  # reach both

    @property
    def members(self) -> frozenset[str]:
        """All members of the cluster."""
        return frozenset({*self.near, *self.far, *self.between})

    def __str__(self) -> str:
        return f"{', '.join(self.near)} from {', '.join(self.far)}"


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
        problem = "only members of etcd, Galera and ZooKeeper can be, and a replica or standby"
        yield SettingConflict(key, f"cannot be {be}: {problem}")
        return
    yield from never_leads(index, target, sections)
    if len(members) < (3 if shape == "bridge" else 2):
        yield SettingConflict(key, f"cannot be {be}: there is only {', '.join(members)}")


def links_between(cluster: Cluster, sides: Sides, direction: MemberDirection) -> dict[Link, Direction]:
    """Return the links between two sides, each with the direction in which it carries this data."""
    outward, inward = OF_LINKS[direction]
    return {
        link: outward if link.source in sides.near else inward
        for link in cluster.links
        if (link.source in sides.near and link.server in sides.far)
        or (link.source in sides.far and link.server in sides.near)
    }


def probes_of(
    cluster: Cluster, kind: str, target: str, hit: Mapping[Link, Direction], edges: Sequence[NetworkEdge] = ()
) -> Probes:
    """Probe what a fault hits, except links hit in one direction whose servers answer all the same.

    Toxiproxy passes on the end of a connection, and what a server says before any request.
    """
    systems = {server.name: server.system for server in cluster.servers}
    of_edges = Probes.of(cluster, kind, target, edges)
    of_links: dict[Way, tuple[Address, str]] = {
        link: (address, members_of(system) if (system := systems[link.server]) in MEMBERS else system)
        for link, direction in hit.items()
        if (address := cluster.links[link]) and systems[link.server] not in UNPROVED.get(direction, ())
    }
    return Probes(kind=kind, target=target, edges={**of_links, **of_edges.edges})


@dataclass(slots=True, kw_only=True)
class LinksHit:
    """Links between two sides during a fault; `healed` is the evidence of its end."""

    toxiproxy: Toxiproxy
    links: Mapping[Link, Direction]
    probes: Probes
    before: float  # s; the slowest answer before it
    led: str  # what the members reported then
    healed: str = ""


@contextmanager
def links_hit(
    cluster: Cluster,
    kind: str,
    target: str,
    sides: Sides,
    direction: MemberDirection,
    edges: Sequence[NetworkEdge] = (),
) -> Iterator[LinksHit]:
    """Let a fault hit the links between two sides, and edges, until the block ends, and prove that it ended.

    Healed means: Toxiproxy shows no toxic, each link and edge answers again, every member serves requests,
    and one of them leads. The evidence says what the members reported just before it was healed.
    Raises FaultNotInstalledError or ServerNotReadyError if that is not observed.
    """
    toxiproxy, links = cluster.toxiproxy, links_between(cluster, sides, direction)
    if toxiproxy is None or not links:
        raise FaultNotInstalledError(kind, target, f"there are no proxies between {sides}")
    members = [server for server in cluster.servers if server.name in sides.members]
    probes = probes_of(cluster, kind, target, links, edges)
    before, led = probes.prove_whole(), reports(members)
    hit = LinksHit(toxiproxy=toxiproxy, links=links, probes=probes, before=before, led=led)
    try:
        yield hit
        meanwhile = reports(members)
    finally:
        heal(toxiproxy, probes, tuple(links))
        taken = probes.prove_whole_again()
    prove_one_cluster(cluster, kind, members)
    every = "link and edge" if kind == "partition" else "link"
    hit.healed = (
        f"just before, {meanwhile}; now Toxiproxy shows no toxic, every {every} answered within {ms(taken)}, "
        f"and {reports(members)}"
    )


def heal(toxiproxy: Toxiproxy, probes: Probes, links: Sequence[Link]) -> None:
    """Heal everything that was hit: some links cannot be probed."""
    unprobed = {link: None for link in links if link not in probes.edges}
    try:
        for link in unprobed:
            toxiproxy.heal(link)
    finally:
        probes.heal(toxiproxy)


def reports(members: Sequence[Server]) -> str:
    """Say what each member reports of itself, over the harness' own way to it."""
    return ", ".join(f"{member.name} {_report(member)}" for member in members)


def _report(member: Server) -> str:
    system = SYSTEMS[member.system]
    if system.leads is not None and system.leads(member.address):
        return "leads"
    serves = (system.is_led or system.is_usable)(member.address)
    return "serves" if serves else "does not serve"


def prove_one_cluster(cluster: Cluster, kind: str, members: Sequence[Server]) -> None:
    """Wait until every member serves requests, and exactly one leads, if any of them does."""
    for _ in polls(HEALING, POLL):
        if not (unwell := _outside(members)):
            return
    seen = f"is not part of one cluster {HEALING:g} s after a {kind}: {reports(members)}"
    raise not_ready(unwell[0], seen, cluster.logs()[unwell[0]])


def _outside(members: Sequence[Server]) -> list[str]:
    """Return the members that serve no requests, or all of them unless exactly one leads."""
    can_lead = any(SYSTEMS[member.system].leads for member in members)
    if can_lead and [_report(member) for member in members].count("leads") != 1:
        return [member.name for member in members]
    return [member.name for member in members if not SYSTEMS[member.system].is_usable(member.address)]
