"""Register: each client writes run-unique values to a register while it holds its lock.

acquire, one to three writes, a read, release; then again with another
resource. Under the strict policy a hold writes once: the storage lets one
write through for each token.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Answer
from workloads.holds import Client, Hold


def work(client: Client, hold: Hold, most_writes: int) -> None:
    """Write one to so many values, and read."""
    for nth in range(client.rng.randint(1, most_writes)):
        client.pause_for_thought()
        client.reached("before-write", hold)
        if not _write(client, hold, f"{hold.owner}.{nth}").ok:
            break
    client.pause_for_thought()
    client.read(hold.resource)


def _write(client: Client, hold: Hold, value: str) -> Answer:
    def write() -> dict[str, Any]:
        client.storage.write(hold.resource, hold.token, value, lambda: client.reached("write-sent", hold))
        return {}

    return client.write("write", hold, write, value=value)
