"""Free ports on loopback, for servers that cannot choose one themselves."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from harness.network.topology import Address

HOST = "127.0.0.1"
TAKEN = "address already in use"  # in the log of a server whose port was taken first


def free_addresses(count: int) -> list[Address]:
    """Find distinct free ports; nothing keeps them free until they are used."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [Address(HOST, each.getsockname()[1]) for each in sockets]
