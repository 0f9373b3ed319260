"""Delay: what a client sends to some servers, or members to each other, arrives later, in order.

Nothing is lost, and connections stay open: a request arrives even if its client has long given up
waiting for the answer and closed its connection. So a write can arrive after its lease has ended.

Messages between members are all late by the same time. Where the links get late all at once, a
leader hears nothing for that time, and may step down. One after another, they leave it in office: what
some members say is late by then, but never stops.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import FaultKind
from harness.core.duration import NS, Span, format_duration
from harness.core.fields import STRICT, Duration, Length
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, hits_servers, ns
from harness.nemesis.edge_probes import Probes, ms, proxies_of
from harness.nemesis.fault import GoOn, InForce, InjectedFault, Wait
from harness.nemesis.fields import Side, VictimOrMember, named_servers, raise_all
from harness.nemesis.leader import servers_now, side_of
from harness.nemesis.member_links import (
    MemberDirection,
    Sides,
    links_between,
    links_hit,
    never_split,
    probes_of,
)
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.nemesis.stop_points import Until, check_aimed_servers, check_times, never_reached
from harness.network.probe import requests
from harness.network.topology import NetworkEdge

LONGEST = 50 * NS["s"]
LEAST = 500 * NS["ms"]
MOST = 4 * NS["s"]  # members of etcd give up a connection that stays silent for 5 s


class DelaySpec(BaseModel):
    """What a client sends to servers is held back for a while, or messages between members are late."""

    model_config = STRICT
    called: ClassVar[str] = "delay"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="had its messages held back",
        now="has its messages held back",
        afterwards="gets its messages through again",
        short="messages held",
        count="delays",
    )
    counts: ClassVar[tuple[str, ...]] = ("delays", "grants_to_others")
    traits: ClassVar[Trait] = Trait.NEEDS_PROTOCOL
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder", "to": "both"}

    kind: Literal["delay"]
    target: VictimOrMember
    """holder, holder:r0 (the holder of that resource) or client:0; or a member of a cluster: lock:leader
    (whichever leads then), or one by its name, such as etcd-2."""
    side: Side | None = Field(None, alias="to")
    """The side for which messages of a client are held back, or a list of servers, such as ["redis-4"]."""
    by: Duration | None = None
    """How late messages between a member and the others are."""
    direction: MemberDirection = "both"
    """Of a member: outgoing delays what it sends to the others, incoming what they send to it."""
    over: Duration | None = None
    """Its links get late one after another in this time: first what it hears from each other member, at last
    what it sends. Without it, all at once."""
    at: Literal["granted", "acquired", "list-read", "before-write", "before-release"] | None = None
    """The stop point: from there on, its messages are held back."""
    until: Until | None = None
    """superseded: another client was granted a higher token, and its write was accepted. freed: it has also
    released the lock, and no client holds it or waits for it. contested: another client has read the list
    that it is about to change (workload append only)."""
    lasts: Length | None = None
    """How long its messages are held back; of a member, how long all its links are late."""
    every: Length | None = None
    """It happens once in each interval of this length."""
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
            yield "messages between a member and the others are delayed: give no to"
        if self.by is None or not LEAST <= self.by <= MOST:
            limits = f"{format_duration(LEAST)} to {format_duration(MOST)}"
            yield f"give by, how late messages between members are: {limits}"
        if self.at or not self.every:
            yield "messages between members are delayed once in each interval: give every, and no at"

    def _unlike_a_client(self) -> Iterator[str]:
        if self.side is None:
            yield 'the messages of a client are for servers: give to, such as "storage"'
        if self.by or self.over or self.direction != "both":
            yield "only messages between members are late by a fixed time: give no by, direction or over"

    @property
    def engine_need(self) -> Literal["partitions", "split"]:
        """What the engine must be able to do: delay messages on edges, or on links between members."""
        return "split" if hits_servers(self) else "partitions"

    @property
    def unserved(self) -> str:
        """The error if no server is started for it."""
        if hits_servers(self):
            return "no message within {} can be delayed"
        return "no message to {} can be held back"

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the messages are for, or the member that is hit."""
        return named_servers(self.side) if self.side else (side_of(self.target),)

    def needs(self, reach: FaultReach, client: int | None = None) -> Needs:
        """Return the edges on which messages are held back, or the members."""
        servers = reach.servers(self.aim())
        if client is not None:
            return {NetworkEdge(client, server) for server in servers}
        return set(reach.siblings(servers[0]))

    def in_force_on(self, reach: FaultReach, client: int, go_on: GoOn | None) -> InForce:
        """Hold back what a client sends from now on."""
        return delay(reach.cluster, client, reach.servers(self.aim()), go_on or (lambda: None))

    def in_force(self, reach: FaultReach, wait: Wait) -> InForce:
        """Delay messages between a member and the others."""
        name, (member,) = servers_now(reach, self.target)
        others = tuple(other for other in reach.siblings(member) if other != member)
        late = MemberDelay(by=self.by or LEAST, direction=self.direction, over=self.over)
        return delay_members(reach.cluster, name, member, others, late, wait)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield stop points that are never reached, members without others, and delays that are too long."""
        yield from never_reached(index, self, sections)
        lasts, every = ns(self.lasts, sections.lock), ns(self.every, sections.lock)
        if hits_servers(self):
            yield from never_split(index, self.target, None, sections, "delayed")
            if self.over and lasts and every and lasts < every <= lasts + self.over:
                yield SettingConflict(
                    ("faults", index, "over"), "over and lasts must together be shorter than every"
                )
        elif lasts and lasts > LONGEST:
            yield SettingConflict(
                ("faults", index, "lasts"),
                f"must be at most {format_duration(LONGEST)}: servers close connections that stay silent",
            )


@contextmanager
def delay(cluster: Cluster, client: int, servers: Sequence[str], go_on: GoOn) -> Iterator[InjectedFault]:
    """Hold back what a client sends to these servers until the block ends, and deliver it then.

    `go_on` is called once everything is held back: a client that waited for that may send its message.
    In force means: Toxiproxy shows the toxic on every edge, and a request over each gets no answer,
    although one that was sent just before did. Healed means: Toxiproxy shows no toxic, each of these
    requests was answered after all, and every server answers.
    Raises FaultNotInstalledError if that is not observed. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = proxies_of(cluster, "delay", target)
    probes = Probes.of(cluster, "delay", target, (NetworkEdge(client, name) for name in servers))
    before = probes.prove_whole()
    try:
        shown = {str(toxiproxy.hold(edge, "to-server")) for edge in probes.edges}
        since = time.monotonic_ns()
        go_on()
        with requests(probes.edges) as sent:
            silence = probes.prove_held(sent, before)
            size = max(each.size for each in sent.values())
            evidence = (
                f"messages to {', '.join(servers)} are held back: Toxiproxy shows {', '.join(shown)}; "
                f"answers took {ms(before)} before, and a request of {size} bytes to each got none in "
                f"{ms(silence)} since"
            )
            fault = InjectedFault("delay", target, evidence=evidence, since=since)
            yield fault
            fault.until = time.monotonic_ns()  # from here on messages may arrive
            probes.heal(toxiproxy)
            delivered = probes.prove_delivered(sent)
    finally:
        probes.heal(toxiproxy)
        taken = probes.prove_whole_again()
    fault.healed = (
        f"Toxiproxy shows no toxic; the requests that were held back were answered within {ms(delivered)}, "
        f"and every server answered within {ms(taken)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDelay:
    """How late messages between members are."""

    by: int  # ns
    direction: MemberDirection = "both"
    over: int | None = None  # ns in which the links get late one after another; None: all at once


def steps(target: str, others: Sequence[str], late: MemberDelay) -> Iterator[tuple[Sides, MemberDirection]]:
    """Yield what gets late at the same time, in order.

    One after another means: what the target hears from each other member, and at last what it sends.
    """
    everything = Sides((target,), tuple(others))
    if late.over is None:
        yield everything, late.direction
        return
    for other in others:
        yield Sides((target,), (other,)), "incoming" if late.direction == "both" else late.direction
    if late.direction == "both":
        yield everything, "outgoing"


@contextmanager
def delay_members(
    cluster: Cluster, target: str, member: str, others: Sequence[str], late: MemberDelay, wait: Wait
) -> Iterator[InjectedFault]:
    """Delay messages between a member and the others until the block ends; they are delivered then.

    In force means: Toxiproxy shows every latency, and each link that answered just before is silent for
    a part of it. Healed means what `links_hit` says.
    """
    in_turn = tuple(steps(member, others, late))
    shown: set[str] = set()
    with links_hit(cluster, "delay", target, Sides((member,), tuple(others)), late.direction) as hit:
        began, since = time.monotonic_ns(), None
        for nth, (sides, direction) in enumerate(in_turn):
            if late.over:
                due = began + late.over * nth // max(len(in_turn) - 1, 1)
                wait(Span(ns=max(due - time.monotonic_ns(), 0)))
            links = links_between(cluster, sides, direction)
            shown |= {str(hit.toxiproxy.delay(link, way, late.by // NS["ms"])) for link, way in links.items()}
            since = since or time.monotonic_ns()
            probes = probes_of(cluster, "delay", target, links)
            silence = probes.prove_silent(hit.before, late.by / NS["s"] / 2)
        after = f", one after another over {format_duration(late.over)}" if late.over else ""
        evidence = (
            f"messages between {member} and {', '.join(others)} are {format_duration(late.by)} late "
            f"({late.direction}; links: {len(hit.links)}{after}): "
            f"Toxiproxy shows {', '.join(sorted(shown))}; answers took {ms(hit.before)} before, "
            f"none came in {ms(silence)} since; before it, {hit.led}"
        )
        fault = InjectedFault("delay", target, evidence=evidence, since=since)
        yield fault
        fault.until = time.monotonic_ns()  # from here on messages arrive
    fault.healed = hit.healed
