"""Redlock on five real servers: what its client may count as a grant."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
from systems import Memory, endpoints, lock_settings, run_named
from tap import Tap

from harness.engines import ServerSpec, Topology
from harness.recorder import RecordedSession
from workloads.client import Unknown
from workloads.locks import redlock


@pytest.fixture(scope="module")
def addresses(local_engine, tmp_path_factory):
    specs = tuple(ServerSpec(name=f"redis-{number}", system="redis") for number in range(1, 6))
    topology = Topology(servers=specs, clients=1, partitions=False)
    with local_engine.start(topology, run_named("redlock"), tmp_path_factory.mktemp("run"), print) as cluster:
        yield endpoints(cluster, "redis")


def connect(addresses, client=0):
    settings = lock_settings("redlock", addresses, client=client, token="highest-counter")
    return redlock.connect(settings, RecordedSession(Memory(), process=10 + client, stride=100))


def test_a_server_that_may_yet_delete_the_key_of_an_attempt_before_does_not_count(addresses):
    tap = Tap("redis", addresses[:3])
    tap.withheld = b"'DEL'"
    with (
        closing(connect(addresses)) as holder,
        closing(connect([*tap.endpoints, *addresses[3:]], 1)) as waiter,
    ):
        holder.acquire("r0", "0-1")
        releasing = threading.Thread(target=_release_once_refused, args=(holder, tap))
        releasing.start()

        with pytest.raises(Unknown):
            waiter.acquire("r0", "1-1")

        releasing.join(timeout=10)
    tap.drain(within=5)
    tap.close()


def _release_once_refused(holder, tap):
    """Give the lock back when the waiter has asked every server, and has sent a deletion to one."""
    deadline = time.monotonic() + 10
    while not any(tap.withheld in request for _, request in list(tap.requests)):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    holder.release("r0", "0-1")
