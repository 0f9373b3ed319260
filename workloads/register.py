"""Register: each client writes run-unique values to a register while it holds its lock.

A client acquires, writes one to three times, reads and releases, then repeats that with
another resource. Under the strict policy it writes once per lock: the storage accepts one
write per token.
"""

from __future__ import annotations

from workloads.client_loop import Client, HeldLock


def work(client: Client, held: HeldLock, most_writes: int) -> None:
    """Write one to `most_writes` values, then read."""
    for nth in range(client.rng.randint(1, most_writes)):
        client.think()
        client.reached("before-write", held)
        if not client.write_value(held, f"{held.owner}.{nth}").ok:
            break
    client.think()
    client.read(held.resource)
