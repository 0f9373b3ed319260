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
from harness.engines.engine import Cluster
from harness.nemesis.edge_probes import ms
from harness.nemesis.fault import InjectedFault, Wait
from harness.nemesis.member_links import MemberDirection, Sides, links_between, links_hit, probes_of


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
