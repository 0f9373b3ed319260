"""The members of clusters that a fault will split, and the links between them.

All members know each other by the same names and ports, so that they agree on what the cluster
is. Where such a name leads depends on the member that asks: to its own proxy for that link.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from harness.network.member_systems import MEMBERS
from harness.network.topology import Link, ServerSpec, Topology, links


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
