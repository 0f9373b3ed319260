"""`docker compose` for one run: its project, and the file that is laid over ours."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines.built_images import image_of, our_image
from harness.files.atomic_files import replace_file
from harness.files.log_limit import MOST
from harness.network.topology import Address, Edge, Link, ServerSpec, Topology, edges, links
from harness.processes.supervisor import LET_IT_FINISH, Supervisor

TOXIPROXY = "toxiproxy"
FIRST_EDGE_PORT = 20000  # in Toxiproxy's container
FIRST_LINK_PORT = 19000  # as above; not published
MOVABLE_CLOCK = "/clock/clock.so"  # of our image of Redis
LOGGING = {"driver": "json-file", "options": {"max-size": f"{MOST}", "max-file": "1"}}
"""Docker keeps that much of what a container writes, the newest, and no more of its disk."""
TIMEOUT = 60.0  # s; it takes one to two


@dataclass(frozen=True, slots=True)
class Project:
    """What compose brings up for one run."""

    topology: Topology
    marks: Mapping[str, str]  # the labels of all that it starts
    override: Path

    def images(self) -> dict[str, str]:
        """Return each service's image."""
        chosen = {spec.name: image_of(spec.system, spec.image) for spec in self.topology.servers}
        return {**chosen, TOXIPROXY: our_image(TOXIPROXY)}

    def edge_ports(self) -> dict[Edge, int]:
        """Return where in its container Toxiproxy listens for each edge."""
        return {edge: FIRST_EDGE_PORT + index for index, edge in enumerate(edges(self.topology))}

    def link_ports(self) -> dict[Link, int]:
        """The same for each link of a replica."""
        return {link: FIRST_LINK_PORT + index for index, link in enumerate(links(self.topology))}

    def link_address(self, follower: ServerSpec) -> Address:
        """Return where a replica finds the server that it follows."""
        return Address(TOXIPROXY, self.link_ports()[Link(follower.name, follower.follows)])

    def up(self, supervisor: Supervisor) -> None:
        """Create and start everything; ServerNotReadyError with what compose said if it cannot."""
        replace_file(self.override, [json.dumps(self._override(), indent=1)])
        # A second etcd member that starts with the first delays both: see etcd.yaml.
        later = [spec.name for spec in _etcd(self.topology)[1:]]
        first = [service for service in self.images() if service not in later]
        for services in (first, later):
            if services:
                command = [*self._compose(), "up", "--detach", "--no-build", "--no-deps", *services]
                supervisor.spawn("compose", command, stop_signal=LET_IT_FINISH).finish(TIMEOUT)

    def environment(self) -> dict[str, str]:
        """Return what the docker command gets: the user's own, but for what would steer compose."""
        members = ",".join(f"{spec.name}=http://{spec.name}:2380" for spec in _etcd(self.topology))
        users = {key: value for key, value in os.environ.items() if not key.startswith("COMPOSE_")}
        return {
            **users,
            "FENCEPOST_ETCD_CLUSTER": members,
            "FENCEPOST_ZOOKEEPER_ENSEMBLE": _zookeeper_ensemble(self.topology),
            **self._redis(),
        }

    def _redis(self) -> dict[str, str]:
        """What Redis as a lock service is told beside the compose file."""
        settings = {}
        for spec in self.topology.servers:
            if not spec.durable:
                settings["FENCEPOST_REDIS_APPENDONLY"] = "no"
            if spec.follows:
                address = self.link_address(spec)
                settings["FENCEPOST_REDIS_PRIMARY"] = address.host
                settings["FENCEPOST_REDIS_PRIMARY_PORT"] = str(address.port)
        return settings

    def _compose(self) -> list[str | Path]:
        ours = Path(str(importlib.resources.files("compose")))
        systems = dict.fromkeys([*(spec.system for spec in self.topology.servers), TOXIPROXY])
        files = [*(ours / f"{system}.yaml" for system in systems), self.override]
        options = [option for file in files for option in ("--file", file)]
        folder = self.override.parent  # its .env is read: the package has none, the user's shell may
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
        for name in self.topology.clocks:
            services[name]["environment"] = {"LD_PRELOAD": MOVABLE_CLOCK}
        services[TOXIPROXY]["ports"] = [f"127.0.0.1::{port}" for port in self.edge_ports().values()]
        return {"services": services, "networks": {"default": {"labels": labels}}}


def _etcd(topology: Topology) -> list[ServerSpec]:
    """The members of the cluster that the compose file does not know: how many they are, a target says."""
    return [spec for spec in topology.servers if spec.system == "etcd" and spec.cluster != "storage"]


def _zookeeper_ensemble(topology: Topology) -> str:
    """The same for ZooKeeper, in the words of its configuration."""
    specs = [spec for spec in topology.servers if spec.system == "zookeeper" and spec.cluster != "storage"]
    return " ".join(f"server.{number}={spec.name}:2888:3888;2181" for number, spec in enumerate(specs, 1))
