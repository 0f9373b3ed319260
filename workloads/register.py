"""Register: each client writes run-unique values to a register while it holds its lock.

A client acquires, writes one to three times, reads and releases, then repeats that with
another resource. Under the strict policy it writes once per lock: the storage accepts one
write per token.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Answer
from workloads.client_loop import Client, HeldLock


def work(client: Client, held: HeldLock, most_writes: int) -> None:
    """Write one to `most_writes` values, then read."""
    for nth in range(client.rng.randint(1, most_writes)):
        client.think()
        client.reached("before-write", held)
        if not _write(client, held, f"{held.owner}.{nth}").ok:
            break
    client.think()
    client.read(held.resource)


def _write(client: Client, held: HeldLock, value: str) -> Answer:
    def write() -> dict[str, Any]:
        client.storage.write(held.resource, held.token, value, lambda: client.reached("write-sent", held))
        return {}

    return client.write("write", held, write, value=value)
