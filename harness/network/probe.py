"""Does a server answer over an edge? Probed with a real request, over a new connection."""

from __future__ import annotations

import socket
import time
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from harness.network.systems import SYSTEMS
from harness.network.topology import Address

Key = TypeVar("Key", bound=Hashable)


def reply(address: Address, system: str, within: float) -> float | None:
    """Probe once, and return how long the answer took (s); None if none came `within` that time (s).

    A connection that opens and stays silent, is refused, or closes has not answered.
    """
    asked = time.monotonic()
    known = SYSTEMS[system]
    try:
        with socket.create_connection((address.host, address.port), timeout=within) as connection:
            connection.sendall(known.probe)
            connection.settimeout(max(asked + within - time.monotonic(), 0.001))
            answer = connection.recv(64)
    except OSError:
        return None
    return time.monotonic() - asked if answer.startswith(known.answers) else None


def replies(targets: Mapping[Key, tuple[Address, str]], within: float) -> dict[Key, float | None]:
    """Probe several (address, system) at the same time."""
    with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
        asked = {key: pool.submit(reply, *target, within) for key, target in targets.items()}
        return {key: future.result() for key, future in asked.items()}
