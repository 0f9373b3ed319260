"""The API server of Kubernetes on Docker, the only engine that runs it. Its image builds for many minutes."""

from pathlib import Path

import pytest

from harness.engines.engine import Engine
from harness.nemesis.partition import partition
from harness.network import kubernetes_server
from harness.network.probe import reply
from harness.network.topology import ServerSpec, Topology

SERVER = ServerSpec(name="kubernetes-1", system="kubernetes", release="1.34.4", cluster="lock")

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(2400)]


def test_it_serves_requests_again_after_a_partition_and_a_kill(
    docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    topology = Topology(servers=(SERVER,), clients=1, partitions=True)
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        version = cluster.environment()["servers"]["kubernetes-1"]["version"]
        with partition(cluster, 0, ["kubernetes-1"]):
            cut_off = reply(cluster.edge(0, "kubernetes-1"), "kubernetes", within=0.3)
        healed = reply(cluster.edge(0, "kubernetes-1"), "kubernetes", within=2)
        cluster.kill(["kubernetes-1"])
        cluster.restart(["kubernetes-1"])
        usable = kubernetes_server.is_usable(cluster.servers[0].address)

    assert (version, cut_off, usable) == ("1.34.4", None, True)
    assert healed is not None
