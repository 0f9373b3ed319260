"""Members of a cluster that will be split, on Docker: each has a network of its own.

Toxiproxy is in all of them, and nothing else is: neither another member nor the harness reaches
one without it. In the network of each member the names of the others lead to Toxiproxy, which
has one address there: it knows by the address who asks, and by the port whom for.

The networks are internal. Docker would otherwise publish all of Toxiproxy's ports again for each
network that it leaves, which takes half a minute with five members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.network.members import MEMBERS, advertised_port, member_links, probed_links, split_clusters
from harness.network.topology import Entrance, Link, ServerSpec, Topology

FIRST_ENTRANCE_PORT = 18000  # inside Toxiproxy's container
FIRST_DOOR_PORT = 17000  # inside Toxiproxy's container
HARNESS = "harness"
(ETCD,) = MEMBERS["etcd"].ports
ZOOKEEPER = MEMBERS["zookeeper"].ports
GALERA = MEMBERS["mariadb"].ports
# Ticks of 200 ms that an elected leader waits for its followers. A proxy accepts their connection before
# the leader does, and hangs up: they then look for another leader until this one gives up.
INIT_LIMIT = "10"
TICK = 0.2  # s
# Ticks without an answer, after which a leader without followers steps down, and any member hangs up.
SYNC_LIMIT = str(round(MEMBERS["zookeeper"].hangs_up / TICK))
UNCHECKED = {"disable": True}  # a member that is cut off would be called unhealthy; the fault checks it


@dataclass(frozen=True, slots=True)
class DockerMembers:
    """What members of split clusters need of `docker compose`."""

    topology: Topology

    @property
    def names(self) -> tuple[str, ...]:
        """The servers with a network of their own, which has the name of the server."""
        return tuple(dict.fromkeys(link.source for link in member_links(self.topology)))

    def host(self, server: str) -> str:
        """Return the name by which Toxiproxy reaches a server: a member's usual name may be its own."""
        return f"member-{server}" if server in self.names else server

    def cluster(self, system: str) -> list[ServerSpec]:
        """Return the members of the lock's cluster; only the target says how many there are."""
        return [each for each in self.topology.servers if each.system == system and each.cluster != "storage"]

    def variables(self) -> dict[str, str]:
        """Return the variables that tell each cluster its members."""
        return {name: listed(self, self.cluster(system)) for system, (name, listed) in CLUSTERS.items()}

    def port(self, server: str, port: int) -> int:
        """Return the port at which other members reach a server."""
        return advertised_port(self.topology, server, port) if server in self.names else port

    def entrance_ports(self) -> dict[Entrance, int]:
        """Return Toxiproxy's port in its container for the way into each link that is probed."""
        probed = probed_links(self.topology)
        return {Entrance(link): FIRST_ENTRANCE_PORT + index for index, link in enumerate(probed)}

    def doors(self) -> dict[Link, int]:
        """Return Toxiproxy's port in its container for the harness' own way to each member."""
        return {Link(HARNESS, name): FIRST_DOOR_PORT + index for index, name in enumerate(self.names)}

    def published(self) -> tuple[int, ...]:
        """Return Toxiproxy's ports that lead from this machine to members and into their links."""
        return (*self.doors().values(), *self.entrance_ports().values())

    def networks(self, labels: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the networks of the members."""
        return {name: {"internal": True, "labels": labels} for name in self.names}

    def services(self, toxiproxy: str) -> Mapping[str, Mapping[str, Any]]:
        """Return what the override file adds to services."""
        if not self.names:
            return {}
        members: dict[str, dict[str, Any]] = {
            name: {"networks": {name: {"aliases": [self.host(name)]}}, "healthcheck": UNCHECKED}
            for name in self.names
        }
        for spec in self.topology.servers:
            if spec.name in members:
                members[spec.name]["environment"] = ENVIRONMENTS[spec.system](self, spec)
        return {**members, toxiproxy: {"networks": {"default": {}, **self._others()}}}

    def _others(self) -> Mapping[str, Any]:
        """Return the names that lead to Toxiproxy in the network of each member."""
        of = {
            spec.name: members
            for (system, _), members in split_clusters(self.topology).items()
            if system in MEMBERS
            for spec in members
        }
        return {
            name: {"aliases": [other.name for other in of[name] if other.name != name]} for name in self.names
        }


def _etcd_peer(members: DockerMembers, spec: ServerSpec) -> str:
    """Return the URL at which other members of etcd reach this one."""
    return f"http://{spec.name}:{members.port(spec.name, ETCD)}"


def _etcd_cluster(members: DockerMembers, cluster: Sequence[ServerSpec]) -> str:
    return ",".join(f"{spec.name}={_etcd_peer(members, spec)}" for spec in cluster)


def _etcd_environment(members: DockerMembers, spec: ServerSpec) -> Mapping[str, str]:
    listen = f"http://0.0.0.0:{members.port(spec.name, ETCD)}"
    return {"ETCD_INITIAL_ADVERTISE_PEER_URLS": _etcd_peer(members, spec), "ETCD_LISTEN_PEER_URLS": listen}


def _zookeeper_ensemble(members: DockerMembers, ensemble: Sequence[ServerSpec]) -> str:
    """Return ZooKeeper's members as it reads them from its configuration."""
    ports = [[members.port(spec.name, port) for port in ZOOKEEPER] for spec in ensemble]
    return " ".join(
        f"server.{number}={spec.name}:{quorum}:{election};2181"
        for number, (spec, (quorum, election)) in enumerate(zip(ensemble, ports, strict=True), 1)
    )


CLUSTERS: Mapping[str, tuple[str, Callable[[DockerMembers, Sequence[ServerSpec]], str]]] = {
    "etcd": ("FENCEPOST_ETCD_CLUSTER", _etcd_cluster),
    "zookeeper": ("FENCEPOST_ZOOKEEPER_ENSEMBLE", _zookeeper_ensemble),
}
"""For each system with members, the variable of its compose file that lists them, and how."""


def _galera_environment(members: DockerMembers, spec: ServerSpec) -> Mapping[str, str]:
    of_copies, of_missed, of_group = GALERA
    cluster = [each for each in members.topology.servers if each.cluster == spec.cluster]
    group = ",".join(f"{each.name}:{members.port(each.name, of_group)}" for each in cluster)
    return {
        "GALERA_GROUP": f"gcomm://{group}",
        "GALERA_PORT": f"{members.port(spec.name, of_group)}",
        "GALERA_PORT_OF_MISSED": f"{members.port(spec.name, of_missed)}",
        "GALERA_PORT_OF_COPIES": f"{members.port(spec.name, of_copies)}",
    }


ENVIRONMENTS: Mapping[str, Callable[[DockerMembers, ServerSpec], Mapping[str, str]]] = {
    "etcd": _etcd_environment,
    "mariadb": _galera_environment,
    "zookeeper": lambda _members, _spec: {"ZOO_SYNC_LIMIT": SYNC_LIMIT, "ZOO_INIT_LIMIT": INIT_LIMIT},
}
"""The settings of a member of a split cluster that others do not have."""
