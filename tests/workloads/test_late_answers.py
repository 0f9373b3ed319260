"""An answer that comes after its request was given up is not the answer of the next one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.network.topology import ServerSpec
from tests.support.systems import endpoints, started, storage_clients, storage_settings
from tests.support.tap import Tap
from tests.support.waiting import PATIENCE, wait_for
from workloads.client import Storage, Unknown
from workloads.storages import load_kind

pytestmark = pytest.mark.engine

TIMEOUT = 2.0  # s


@pytest.fixture
def tapped(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Tap, Storage]]:
    """A tap on the wire to a real server, and the client there, which has written two values."""
    engine, system, fencing = request.param
    engine = request.getfixturevalue(engine)
    spec = ServerSpec(name=f"{system}-1", system=system)
    with started(engine, tmp_path, spec) as cluster:
        tap = Tap(system, endpoints(cluster, system))
        load_kind(system).set_up(storage_settings(system, tap.endpoints), ["r0", "r1"])
        with storage_clients(system, tap.endpoints, fencing=fencing, timeout=TIMEOUT) as open_one:
            storage = open_one()
            storage.write("r0", 1, "of the first", lambda: None)
            storage.write("r1", 2, "of the next", lambda: None)
            yield tap, storage
            tap.answers_pass.set()
        tap.close()


@pytest.mark.parametrize(
    "tapped",
    [
        pytest.param(("local_engine", "etcd", "transaction"), id="gRPC"),
        pytest.param(("docker_engine", "zookeeper", "version-check"), id="ZooKeeper", marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_a_late_answer_is_not_that_of_the_next_request(tapped: tuple[Tap, Storage]) -> None:
    tap, storage = tapped
    connections = len(tap._wires)
    tap.answers_pass.clear()
    with pytest.raises(Unknown):
        storage.read("r0")
    requests = len(tap.requests)

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(storage.read, "r1")
        assert wait_for(lambda: len(tap.requests) > requests)
        tap.answers_pass.set()

        assert reading.result(PATIENCE) == ("of the next", 2)

    assert len(tap._wires) == connections
