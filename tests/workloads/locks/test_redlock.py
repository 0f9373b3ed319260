"""Redlock on five real servers: the answers that count as a grant."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import Memory, endpoints, lock_settings, started
from tests.support.tap import Tap
from tests.support.waiting import wait_for
from workloads.client import Unknown
from workloads.locks import redlock


@pytest.fixture(scope="module")
def addresses(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    specs = (ServerSpec(name=f"redis-{number}", system="redis") for number in range(1, 6))
    with started(local_engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        yield endpoints(cluster, "redis")


def connect(addresses: list[str], client: Any = 0) -> Any:
    settings = lock_settings("redlock", addresses, client=client, token="highest-counter")
    return redlock.connect(settings, RecordedSession(Memory(), process=10 + client, stride=100))


def test_a_server_with_a_pending_delete_does_not_count(addresses: list[str]) -> None:
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


def _release_once_refused(holder: Any, tap: Any) -> None:
    """Release the lock once the waiter has asked every server and sent a deletion to one."""
    assert wait_for(lambda: any(tap.withheld in request for _, request in list(tap.requests)))
    holder.release("r0", "0-1")
