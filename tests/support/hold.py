"""A harness to kill: `hold.py docker|local RUN_ID FOLDER` starts servers, says "up" and waits."""

import signal
import sys
from pathlib import Path

from harness.engines.choice import choose
from harness.network.topology import ServerSpec, Topology

TOPOLOGY = Topology(
    servers=(ServerSpec(name="etcd-1", system="etcd"), ServerSpec(name="postgres", system="postgres")),
    clients=1,
    partitions=False,
)

if __name__ == "__main__":
    engine, run_id, folder = sys.argv[1:]
    try:
        with choose(engine).start(TOPOLOGY, run_id, Path(folder), print):
            print("up", flush=True)  # noqa: T201 - tests wait for it
            signal.pause()
    except KeyboardInterrupt:
        print("down", flush=True)  # noqa: T201 - tests wait for it
