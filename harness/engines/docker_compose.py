"""`docker compose` for one run: its project, and the override file."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from harness.engines import patroni, sentinel
from harness.engines.built_images import image_of, our_image
from harness.engines.docker_members import DockerMembers
from harness.engines.postgres_replication import SCRIPT, link_to_primary, options_of, role_of
from harness.files.atomic_files import replace_file
from harness.files.logs import MOST
from harness.network.systems import SYSTEMS
from harness.network.topology import (
    Address,
    Link,
    NetworkEdge,
    ServerSpec,
    Shift,
    Topology,
    edges,
    links,
    replication_link,
)
from harness.processes.supervisor import LET_IT_FINISH, Supervisor

TOXIPROXY = "toxiproxy"
CLOCK = "clock"  # the service, its image, the volume, and the folder where that is
_CLOCKS = f"/{CLOCK}"
_FOR_EVER = 2**63 - 1  # ns
_MILLIONTHS = 1e6
SIDECARS = (TOXIPROXY, CLOCK)
"""Services that no target names."""
FIRST_EDGE_PORT = 20000  # inside Toxiproxy's container
FIRST_LINK_PORT = 19000  # inside Toxiproxy's container; not published
LOGGING = {"driver": "json-file", "options": {"max-size": f"{MOST}", "max-file": "1"}}
"""The size limit of a container's log; Docker keeps the newest lines."""
TIMEOUT = 60.0  # s; it takes one to two


@dataclass(frozen=True, slots=True)
class Project:
    """The compose project of one run."""

    topology: Topology
    marks: Mapping[str, str]  # the labels of everything that it starts
    override: Path

    def images(self) -> dict[str, str]:
        """Return each service's image."""
        chosen = {
            spec.name: image_of(spec.manager or spec.system, spec.image, spec.release)
            for spec in self.topology.servers
        }
        clock = {CLOCK: our_image(CLOCK)} if self.topology.clocks else {}
        return {**chosen, TOXIPROXY: our_image(TOXIPROXY), **clock}

    def edge_ports(self) -> dict[NetworkEdge, int]:
        """Return Toxiproxy's port in its container for each edge."""
        return {edge: FIRST_EDGE_PORT + index for index, edge in enumerate(edges(self.topology))}

    def link_ports(self) -> dict[Link, int]:
        """Return the same for each link of a replica."""
        return {link: FIRST_LINK_PORT + index for index, link in enumerate(links(self.topology))}

    @property
    def members(self) -> DockerMembers:
        """The members of clusters that will be split."""
        return DockerMembers(self.topology)

    def network(self, name: str) -> str:
        """Return Docker's name for one of the project's networks."""
        return f"{self._name()}_{name}"

    def link_address(self, follower: ServerSpec) -> Address:
        """Return the address of the server that a replica follows, through its proxy."""
        return Address(TOXIPROXY, self.link_ports()[replication_link(follower)])

    def up(self, supervisor: Supervisor) -> None:
        """Create and start everything; ServerNotReadyError with compose's output if that fails."""
        replace_file(self.override, [json.dumps(self._override(), indent=1)])
        # etcd members that start together delay each other: see etcd.yaml.
        later = [spec.name for spec in self.members.cluster("etcd")[1:]]
        # The container with the clocks fills their volume when it is created.
        clocks = [CLOCK] if self.topology.clocks else []
        first = [service for service in self.images() if service not in (*clocks, *later)]
        for services in (clocks, first, later):
            if services:
                command = [*self._compose(), "up", "--detach", "--no-build", "--no-deps", *services]
                supervisor.spawn("compose", command, stop_signal=LET_IT_FINISH).finish(TIMEOUT)

    def environment(self) -> dict[str, str]:
        """Return the docker command's environment: the user's, less the variables that affect compose."""
        users = {key: value for key, value in os.environ.items() if not key.startswith("COMPOSE_")}
        return {
            **users,
            **self.members.variables(),
            **self._primaries(),
            **{name: value for spec in self.topology.servers for name, value in spec.variables.items()},
        }

    def _primaries(self) -> dict[str, str]:
        """Return the variables that tell each replica where it reaches its primary."""
        variables: dict[str, str] = {}
        for spec in self.topology.servers:
            if spec.follows:
                primary, name = self.link_address(spec), f"FENCEPOST_{spec.system.upper()}_PRIMARY"
                variables |= {name: primary.host, f"{name}_PORT": str(primary.port)}
        return variables

    def _postgres_links(self) -> list[tuple[ServerSpec, ServerSpec, Address]]:
        """Return each primary of PostgreSQL, its standby, and the address that leads to the primary."""
        specs = {spec.name: spec for spec in self.topology.servers if spec.system == "postgres"}
        return [
            (specs[each.follows], each, self.link_address(each)) for each in specs.values() if each.follows
        ]

    def _patroni(self) -> Mapping[str, Mapping[str, Any]]:
        etcd = [spec.name for spec in self.members.cluster("etcd")]
        managed = [each for each in self._postgres_links() if each[0].manager]
        return {
            name: added
            for primary, standby, link in managed
            for name, added in patroni.services(primary, standby, link, etcd).items()
        }

    def _sentinel(self) -> Mapping[str, Mapping[str, Any]]:
        ports = {link.server: port for link, port in self.link_ports().items()}
        return sentinel.services(self.topology, TOXIPROXY, ports)

    def _compose(self) -> list[str | Path]:
        ours = Path(str(importlib.resources.files("compose")))
        clock = [CLOCK] if self.topology.clocks else []
        systems = dict.fromkeys([*(spec.system for spec in self.topology.servers), TOXIPROXY, *clock])
        files = [*(ours / f"{system}.yaml" for system in systems), self.override]
        options = [option for file in files for option in ("--file", file)]
        # compose reads the folder's .env: the override's folder has none, the current folder may.
        folder = self.override.parent
        return ["docker", "compose", "--project-name", self._name(), "--project-directory", folder, *options]

    def _name(self) -> str:
        run_id = self.marks["fencepost"].lower()
        return f"fencepost-{re.sub('[^a-z0-9_-]', '-', run_id)}"

    def _override(self) -> dict[str, Any]:
        labels = dict(self.marks)
        services: dict[str, Any] = {
            service: {"image": image, "labels": labels, "logging": LOGGING}
            for service, image in self.images().items()
        }
        for primary, _, link in self._postgres_links():
            command = ["sh", f"/{SCRIPT}", role_of(primary), link_to_primary(link)]
            services[primary.name]["command"] = [*command, *options_of(primary)]
        memory = {  # swap must not lift the limit
            spec.name: {"mem_limit": spec.memory, "memswap_limit": spec.memory}
            for spec in self.topology.servers
            if spec.memory
        }
        members, clocks = self.members.services(TOXIPROXY), clocks_of(self.topology)
        for name, settings in chain.from_iterable(
            added.items() for added in (members, clocks, self._patroni(), self._sentinel(), memory)
        ):
            _merge(services[name], settings)
        published = (*self.edge_ports().values(), *self.members.published())
        services[TOXIPROXY]["ports"] = [f"127.0.0.1::{port}" for port in published]
        networks = {"default": {"labels": labels}, **self.members.networks(labels)}
        volumes = {CLOCK: {"labels": labels}} if self.topology.clocks else {}
        return {"services": services, "networks": networks, "volumes": volumes}


def _merge(service: dict[str, Any], added: Mapping[str, Any]) -> None:
    """Add settings to a service; of a mapping that it has already, the new entries."""
    for name, value in added.items():
        is_partial = isinstance(service.get(name), dict)
        service[name] = {**service[name], **value} if is_partial else value


def clocks_of(topology: Topology) -> Mapping[str, Mapping[str, Any]]:
    """Return what the override file adds to services whose clocks a run moves.

    Each of them preloads a library, which reads from a file by how much its clock is shifted. The files are
    on a volume; a container of their own has it too, so that they can be written at any time.
    """
    systems = {spec.name: SYSTEMS[spec.system] for spec in topology.servers}
    added: dict[str, dict[str, Any]] = {}
    for name in topology.clocks:
        environment = {"LD_PRELOAD": f"{_CLOCKS}/clock.so", "FENCEPOST_CLOCK": f"{_CLOCKS}/{name}"}
        clock = systems[name].clock
        if clock is not None and clock.is_monotonic:
            environment["FENCEPOST_CLOCK_MONOTONIC"] = "yes"
        if clock is not None and clock.in_vdso:
            environment["FENCEPOST_CLOCK_VDSO"] = "yes"
        added[name] = {"environment": environment, "volumes": [f"{CLOCK}:{_CLOCKS}:ro"]}
    return added


def command_to_set(server: str, shift: Shift) -> list[str]:
    """Return the command that shifts a server's clock: atomically, because the file is read at any moment."""
    until = _FOR_EVER if shift.until is None else shift.until
    line = f"{shift.ahead} {round(shift.drift * _MILLIONTHS)} {shift.since} {until}"
    return ["sh", "-c", f'echo "$0" > {_CLOCKS}/new && mv {_CLOCKS}/new "{_CLOCKS}/$1"', line, server]
