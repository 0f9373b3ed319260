"""Servers that tests share."""

from __future__ import annotations

import pytest

from harness.engines import ServerSpec, Topology
from harness.engines.local import LocalEngine

ETCD_AND_POSTGRES = (
    ServerSpec(name="etcd-1", system="etcd"),
    ServerSpec(name="postgres", system="postgres"),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """One etcd and one PostgreSQL of the local engine."""
    folder = tmp_path_factory.mktemp("servers")
    topology = Topology(servers=ETCD_AND_POSTGRES, clients=1, partitions=False)
    with LocalEngine().start(topology, folder.name, folder, lambda _line: None) as cluster:
        yield cluster
