"""Time until client processes are ready to work, and the memory of each.

    python -m benchmarks.clients --clients 20

Measured from the start of the fork server until every process has its lock and storage
clients and waits for the start.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from harness.engines.engine import Cluster


class Nowhere:
    """A cluster without servers: a ready client has not contacted any yet."""

    def __init__(self) -> None:
        from harness.network.topology import Address, Server

        self._address = Address("127.0.0.1", 1)
        self.servers = [
            Server(name=name, system=system, address=self._address, upstream=self._address)
            for name, system in (("etcd-1", "etcd"), ("postgres", "postgres"))
        ]

    def edge(self, _client: int, _server: str) -> Any:
        """Return an address where nothing listens."""
        return self._address


def once(count: int) -> None:
    """Measure in this process, which has not started any clients before."""
    # Imported here, because each client repeats this module's imports: it should have as few as the command.
    from harness.clients.pool import started
    from harness.run import deployment
    from harness.spec import load

    nowhere = cast("Cluster", Nowhere())
    target = load("etcd-postgres", [f"workload.clients={count}"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("logs", "events"):
            (folder / each).mkdir()
        began = time.monotonic()
        with started(count, 2, 2, folder) as clients:
            clients.get_ready(lambda client: deployment.task(target, nowhere, folder, 1, client, None))
            ready = time.monotonic() - began
            memory = [process.memory_full_info().uss / 2**20 for process in clients.handles]
    print(ready, statistics.median(memory))


def main() -> None:
    """Measure several times, each in a fresh process, and print minimum / median / maximum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    if arguments.once:
        once(arguments.clients)
        return
    command = [sys.executable, "-m", "benchmarks.clients", "--once", f"--clients={arguments.clients}"]
    measured = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(arguments.times)
    ]
    seconds = sorted(float(each[0]) for each in measured)
    memory = statistics.median(float(each[1]) for each in measured)
    print(
        f"{arguments.clients} clients ready in {seconds[0]:.2f} / {statistics.median(seconds):.2f} / "
        f"{seconds[-1]:.2f} s, {memory:.0f} MB of unshared memory each"
    )


if __name__ == "__main__":
    main()
