"""The members of clusters: how they speak to each other, the links between them, and all that can be probed.

All members know each other by the same names and ports, so that they agree on what the cluster
is. Where such a name leads depends on the member that asks: to its own proxy for that link.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from harness.network.systems import SYSTEMS, System
from harness.network.topology import Link, ServerSpec, Topology, links


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """How the members of a cluster speak to each other."""

    ports: tuple[int, ...]  # inside their containers; the last one answers the probe
    probe: bytes
    answers: tuple[bytes, ...]
    hangs_up: float = math.inf  # s; after so long, it closes a connection on which nothing came
    speaks_first: bool = False  # it answers a connection, before any request


MEMBERS: dict[str, Members] = {
    "etcd": Members(ports=(2380,), probe=SYSTEMS["etcd"].probe, answers=SYSTEMS["etcd"].answers),
    "mariadb": Members(
        ports=(4444, 4568, 4567),  # of Galera: for whole copies, for what a node has missed, of the group
        probe=b"\0",  # too short for a message
        answers=(b"$\0\0\x02",),  # the head of its handshake
        hangs_up=3.0,
        speaks_first=True,
    ),
    "zookeeper": Members(
        ports=(2888, 3888),  # of the leader, and for elections
        probe=struct.pack("!q", -1),  # no version of the election's protocol: it closes the connection
        answers=(b"",),
        hangs_up=3.0,
    ),
}
"""The systems whose clusters can be split, as far as their members have ports of their own."""


def members_of(system: str) -> str:
    """Return the name under which `PROBED` has the members' ports of a system."""
    return f"{system} members"


def keeps_silence(system: str) -> float:
    """Return how long (s) a silent connection stays open; then, hanging up would seem to be the answer."""
    known = PROBED[system]
    return 0.8 * known.hangs_up if isinstance(known, Members) else math.inf


PROBED: Mapping[str, System | Members] = {
    **SYSTEMS,
    **{members_of(system): members for system, members in MEMBERS.items()},
}
"""What can be probed, by name."""


def split_clusters(topology: Topology) -> Mapping[tuple[str, str], tuple[ServerSpec, ...]]:
    """Return the members, in order, of each cluster that a fault will split, by its system and name."""
    split = {(spec.system, spec.cluster) for spec in topology.servers if spec.name in topology.split}
    return {
        each: tuple(spec for spec in topology.servers if (spec.system, spec.cluster) == each)
        for each in sorted(split)
    }


def member_links(topology: Topology) -> tuple[Link, ...]:
    """List the links between members, in both directions and for each of their ports."""
    return tuple(
        Link(source.name, server.name, port)
        for (system, _), members in split_clusters(topology).items()
        if system in MEMBERS
        for source, server in permutations(members, 2)
        for port in MEMBERS[system].ports
    )


def probed_links(topology: Topology) -> tuple[Link, ...]:
    """List the links over which members of split clusters answer a probe."""
    split = {spec.name for members in split_clusters(topology).values() for spec in members}
    last = {members.ports[-1] for members in MEMBERS.values()}
    return tuple(
        link
        for link in (*links(topology), *member_links(topology))
        if link.server in split and link.port in {0, *last}
    )


def advertised_port(topology: Topology, server: str, port: int) -> int:
    """Return the port at which a member listens for the others: each has another one.

    Toxiproxy has one address in the network of each member, so ports tell the others apart.
    """
    members = next(
        members for members in split_clusters(topology).values() if server in (spec.name for spec in members)
    )
    return 10 * port + 1 + [spec.name for spec in members].index(server)
