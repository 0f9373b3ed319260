"""Partition: a client and some servers, or the members of a cluster, are cut off from each other.

Which members are on which side is decided when it begins: a leader is known only then. A client
may be cut off with the target's side: it then reaches only that, and all other clients only the
rest, as when a network falls into two parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal, Self, cast

from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from harness.clients.shared_state import ANY
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.engines.engine import Cluster
from harness.nemesis import triggers
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, hits_servers, missing_victim
from harness.nemesis.edge_probes import Probes, ms, proxies_of
from harness.nemesis.fault import GoOn, InForce, InjectedFault, Wait, polls
from harness.nemesis.fields import Side, Victim, VictimOrMember, named_servers, raise_all
from harness.nemesis.leader import servers_now, side_of
from harness.nemesis.member_links import MemberDirection, Shape, Sides, links_hit, never_split
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.nemesis.stop_points import StopPoint, Until, check_aimed_servers, check_times, never_reached
from harness.network.topology import Direction, NetworkEdge, Way

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy, WayState

POLL = 0.05  # s
HOLDER = 10.0  # s until a client must hold the lock
How = Literal["dropped", "refused", "reset"]


class PartitionSpec(BaseModel):
    """A client is cut off from some servers, or members of the lock service from each other."""

    model_config = STRICT
    called: ClassVar[str] = "partition"
    words: ClassVar[FaultKind] = KINDS["partition"]
    counts: ClassVar[tuple[str, ...]] = ("partitions", "grants_to_others")
    traits: ClassVar[Trait] = Trait(0)
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder", "from": "both", "direction": "both"}

    kind: Literal["partition"]
    target: VictimOrMember
    """holder, holder:r0 (the holder of that resource) or client:0; or a member of the lock service:
    lock:leader (whichever leads then), or one by its name, such as etcd-2."""
    side: Side | None = Field(None, alias="from")
    """The side that a client is cut off from, or a list of servers, such as ["redis-4", "redis-5"]."""
    shape: Shape | None = None
    """How members are divided. isolated (the default): the target and all others. halves: the target and
    as many more as still are a minority, and the rest. bridge: two halves of the others; only the target
    reaches both."""
    along: Victim | None = Field(None, alias="with")
    """A client that is cut off with the target's side: it reaches only that, and all other clients only
    the rest. Without it, every client reaches every member."""
    direction: Literal["both", "to-server", "to-client", "outgoing", "incoming"] = "both"
    """Of a client: to-server loses requests; to-client loses answers to requests that arrive. Of members:
    outgoing loses what the target's side sends, incoming what the other side sends."""
    how: How = "dropped"
    """What becomes of a client's connections. dropped: they open, and everything sent on them is lost.
    refused: they are closed, and new ones refused. reset: they open, and sending resets them."""
    at: StopPoint | None = None
    """The stop point: from there on, a client is cut off. Members are divided while a holder is there, which
    then goes on: once in each interval (every)."""
    until: Until | None = None
    """What ends it for a client that was cut off at a stop point, as for a pause."""
    every: Length | None = None
    """It is cut off once in each interval of this length."""
    lasts: Length | None = None
    """How long it stays cut off."""
    when: When = None

    @model_validator(mode="after")
    def _fits_its_target(self) -> Self:
        raise_all([*(self._unlike_members() if hits_servers(self) else self._unlike_a_client())])
        if hits_servers(self):
            check_aimed_servers(self)
        else:
            check_times(self)
        return self

    def _unlike_members(self) -> Iterator[str]:
        if self.side:
            yield "members are cut off from the other members: give no from"
        if self.direction in ("to-server", "to-client"):
            yield 'the direction between members is "both", "outgoing" or "incoming"'
        if self.how != "dropped":
            yield 'what members send is "dropped": give no how'
        if self.shape == "bridge" and (self.along or self.direction != "both"):
            yield "a bridge has no target's side: give no with, and no direction"
        if not self.every:
            yield "members are divided once in each interval: give every"

    def _unlike_a_client(self) -> Iterator[str]:
        if self.side is None:
            yield 'a client is cut off from servers: give from, such as "lock"'
        if self.shape or self.along:
            yield "only members have a shape, and a client with them: give no shape or with"
        if self.how != "dropped" and self.direction != "both":
            yield 'only connections that are "dropped" have a direction: give no direction'
        if self.direction in ("outgoing", "incoming"):
            yield 'the direction of a client is "both", "to-server" or "to-client"'

    @property
    def engine_need(self) -> Literal["partitions", "split"]:
        """What the engine must be able to do: cut edges, or links between members."""
        return "split" if hits_servers(self) else "partitions"

    @property
    def unserved(self) -> str:
        """The error if no server is started for it."""
        return "nothing of {} can be divided" if hits_servers(self) else "no client can be cut off from {}"

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the client is cut off from, or that are divided."""
        return named_servers(self.side) if self.side else (side_of(self.target),)

    def needs(self, reach: FaultReach, client: int | None = None) -> Needs:
        """Return the edges to cut; or the members, and their edges if a client is cut off with them."""
        servers = reach.servers(self.aim())
        if client is not None:
            return {NetworkEdge(client, server) for server in servers}
        members = reach.siblings(servers[0])
        return {*members, *(reach.edges(members) if self.along else ())}

    def in_force_on(self, reach: FaultReach, client: int, go_on: GoOn | None) -> InForce:
        """Cut a client off, which may have stopped itself at the stop point."""
        servers = reach.servers(self.aim())
        direction = cast("Direction", self.direction)
        return partition(reach.cluster, client, servers, direction, self.how, go_on or (lambda: None))

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Divide members."""
        name, (server,) = servers_now(reach, self.target)
        sides = sides_of(self.shape or "isolated", server, reach.siblings(server))
        edges = divided(reach, sides, self.along) if self.along else ()
        direction = cast("MemberDirection", self.direction)
        return partition_members(reach.cluster, name, sides, direction, edges)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield members that cannot be divided, and stop points that are never reached."""
        yield from never_reached(index, self, sections)
        if hits_servers(self):
            yield from never_split(index, self.target, self.shape, sections)
            yield from missing_victim(("faults", index, "with"), self.along or "", sections)


@contextmanager
def partition(
    cluster: Cluster,
    client: int,
    servers: Sequence[str],
    direction: Direction = "both",
    how: How = "dropped",
    go_on: GoOn = lambda: None,
) -> Iterator[InjectedFault]:
    """Cut the edges from a client to these servers until the block ends.

    `go_on` is called once every edge is cut. In force means: Toxiproxy shows every cut, and each edge
    that answered just before is silent.
    Healed means: Toxiproxy shows no cut, and every server answers.
    Raises FaultNotInstalledError if that is not observed. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = proxies_of(cluster, "partition", target)
    probes = Probes.of(cluster, "partition", target, (NetworkEdge(client, name) for name in servers))
    lost = direction if how == "dropped" else how
    before = probes.prove_whole()
    try:
        shown = {str(_cut(toxiproxy, edge, direction, how)) for edge in probes.ways}
        since = time.monotonic_ns()
        go_on()
        silence = probes.prove_silent(before)
        fault = InjectedFault(
            "partition",
            target,
            since=since,
            evidence=f"cut off from {', '.join(servers)} ({lost}): Toxiproxy shows {', '.join(shown)}; "
            f"{probes.silence_in_words(before, silence)}",
        )
        yield fault
        fault.until = time.monotonic_ns()  # from here on messages may arrive
    finally:
        probes.heal(toxiproxy)
        taken = probes.prove_whole_again()
    fault.healed = f"Toxiproxy shows no toxic{probes.healing_in_words(taken)}"


def _cut(toxiproxy: Toxiproxy, way: Way, direction: Direction, how: How) -> WayState:
    if how == "refused":
        return toxiproxy.close(way)
    return toxiproxy.reset(way) if how == "reset" else toxiproxy.cut(way, direction)


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
    inside = _client(reach, triggers.Victim.named(along), along)
    return tuple(
        NetworkEdge(client, server)
        for client in reach.clients
        for server in (sides.far if client == inside else sides.near)
    )


def _client(reach: FaultReach, victim: triggers.Victim, along: str) -> int:
    if victim.client != ANY:
        return victim.client
    for _ in polls(HOLDER, POLL):
        for client, resource, _token in reach.state.holders() if reach.state else ():
            if victim.resource in (ANY, resource):
                return client
    raise FaultNotInstalledError("partition", along, "no client holds the lock")


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
