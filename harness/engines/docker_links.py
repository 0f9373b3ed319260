"""The proxies between members of clusters that will be split, on Docker."""

from __future__ import annotations

from harness.engines.docker_compose import Project
from harness.engines.docker_containers import Container
from harness.network.members import member_links
from harness.network.topology import Address, Link
from harness.network.toxiproxy import Toxiproxy

EVERYWHERE = "0.0.0.0"  # noqa: S104 (in the container; published on 127.0.0.1 only)
LOCALHOST = "127.0.0.1"


def connect_members(
    project: Project, toxiproxy: Toxiproxy, container: Container
) -> dict[Link, Address | None]:
    """Create a proxy for each link; return the links, and where the harness can probe each.

    `container` is that of Toxiproxy.
    """
    if not project.topology.split:
        return {}
    members = project.members
    at = {name: container.address_in(project.network(name)) for name in members.names}
    between = {
        link: (
            Address(at[link.source], members.port(link.server, link.port)),
            Address(members.host(link.server), members.port(link.server, link.port)),
        )
        for link in member_links(project.topology)
    }
    toxiproxy.create(between)
    listen = {link: Address(LOCALHOST, port) for link, port in project.link_ports().items()}
    listen |= {link: addresses[0] for link, addresses in between.items()}
    entrances = members.entrance_ports()
    toxiproxy.create({way: (Address(EVERYWHERE, port), listen[way.link]) for way, port in entrances.items()})
    unprobed: dict[Link, Address | None] = dict.fromkeys(between)
    return unprobed | {way.link: container.published(port) for way, port in entrances.items()}
