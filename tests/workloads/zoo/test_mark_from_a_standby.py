"""A mark that is read from a standby, shown on real servers while the standby is cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Cluster
from harness.nemesis.partition import partition_members, sides_of
from harness.network import postgres_server
from harness.network.topology import STANDBY, ServerSpec, Topology
from harness.spec import load
from harness.spec.reading import shipped_folder
from tests.support.missing import need
from tests.support.systems import endpoints, storage_settings
from tests.support.waiting import wait_for
from tests.support.zoo_storages import RESOURCE, outcome
from workloads.client import Stale
from workloads.storages import load_kind

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PRIMARY = "postgres"
SPECS = (
    ServerSpec(name=PRIMARY, system="postgres", cluster="storage"),
    ServerSpec(name=STANDBY, system="postgres", cluster="storage", follows=PRIMARY),
)


@pytest.fixture
def cluster(local_engine: Any, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    """A primary and its asynchronous standby, which can be cut off."""
    topology = Topology(servers=SPECS, clients=1, partitions=True, split=(STANDBY,))
    need(local_engine, topology)
    with local_engine.start(topology, run_id, tmp_path, print) as started:
        yield started


def on_standby(cluster: Cluster) -> tuple[str, ...]:
    (standby,) = (server for server in cluster.servers if server.name == STANDBY)
    return postgres_server.writes(standby.address)


def opened(cluster: Cluster, name: str, *, new: bool = False) -> Any:
    """A client of a target's storage, which is set up if it is `new`."""
    spec = load(shipped_folder() / "zoo" / f"{name}.toml").storage
    settings = storage_settings(
        spec.kind, endpoints(cluster, "postgres"), fencing=spec.fencing, policy=spec.policy
    )
    if new:
        load_kind(spec.kind).set_up(settings, [RESOURCE])
    return load_kind(spec.kind).connect(settings)


def test_a_standby_that_is_cut_off_knows_no_newer_token(cluster: Cluster) -> None:
    client, twin = (
        opened(cluster, "mark-from-a-standby", new=True),
        opened(cluster, "mark-from-a-standby-twin"),
    )
    first = wait_for(lambda: outcome(client, 1, "first") == "ok")  # once the standby has the tables
    in_step = wait_for(lambda: on_standby(cluster) == ("first",))
    with_standby = outcome(client, 1, "again")

    with partition_members(cluster, STANDBY, sides_of("isolated", STANDBY, (PRIMARY, STANDBY))):
        newer = outcome(client, 3, "newer")
        right, wrong = outcome(twin, 2, "rejected"), outcome(client, 2, "stale")
        during = on_standby(cluster)
    client.reconnect()
    twin.reconnect()

    assert (first, in_step, with_standby) == (True, True, Stale)
    assert (newer, right, wrong) == ("ok", Stale, "ok")
    assert during == ("first",)
    assert wait_for(lambda: on_standby(cluster) == ("first", "newer", "stale"))
