"""Delay between members: what a member of a cluster hears from the others, or sends to them, arrives late.

Every message is late by the same time, and none is lost. Where the links get late all at once, a
leader hears nothing for that time, and may step down. One after another, they leave it in office: what
some members say is late by then, but never stops.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from harness.core.duration import NS, Span, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.edge_probes import ms
from harness.nemesis.fault import InjectedFault, Wait
from harness.nemesis.member_links import (
    MemberDirection,
    Sides,
    heal,
    links_between,
    probes_of,
    prove_one_cluster,
    reports,
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
    a part of it. Healed means: Toxiproxy shows none, each link answers again, every member serves
    requests, and one of them leads. The evidence says what the members reported just before it was healed.
    Raises FaultNotInstalledError or ServerNotReadyError if that is not observed.
    """
    toxiproxy = cluster.toxiproxy
    everything = Sides((member,), tuple(others))
    links = links_between(cluster, everything, late.direction)
    if toxiproxy is None or not links:
        raise FaultNotInstalledError("delay", target, f"there are no proxies between {everything}")
    members = [server for server in cluster.servers if server.name in everything.members]
    probes = probes_of(cluster, "delay", target, links)
    before, led = probes.prove_whole(), reports(members)
    in_turn = tuple(steps(member, others, late))
    shown: set[str] = set()
    began, since = time.monotonic_ns(), None
    try:
        for nth, (sides, direction) in enumerate(in_turn):
            if late.over:
                due = began + late.over * nth // max(len(in_turn) - 1, 1)
                wait(Span(ns=max(due - time.monotonic_ns(), 0)))
            hit = links_between(cluster, sides, direction)
            shown |= {str(toxiproxy.delay(link, way, late.by // NS["ms"])) for link, way in hit.items()}
            since = since or time.monotonic_ns()
            silence = probes_of(cluster, "delay", target, hit).prove_silent(before, late.by / NS["s"] / 2)
        evidence = (
            f"messages between {member} and {', '.join(others)} are {format_duration(late.by)} late "
            f"({late.direction}; links: {len(links)}{_in_turn(late)}): "
            f"Toxiproxy shows {', '.join(sorted(shown))}; answers took {ms(before)} before, "
            f"none came in {ms(silence)} since; before it, {led}"
        )
        fault = InjectedFault("delay", target, evidence=evidence, since=since)
        yield fault
        fault.until = time.monotonic_ns()  # from here on messages arrive
        meanwhile = reports(members)
    finally:
        heal(toxiproxy, probes, tuple(links))
        taken = probes.prove_whole_again()
    prove_one_cluster(cluster, "delay", members)
    fault.healed = (
        f"just before, {meanwhile}; now Toxiproxy shows no toxic, every link answered within {ms(taken)}, "
        f"and {reports(members)}"
    )


def _in_turn(late: MemberDelay) -> str:
    return f", one after another over {format_duration(late.over)}" if late.over else ""
