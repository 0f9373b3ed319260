"""The servers and storages of the zoo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec
from tests.support.systems import started
from tests.support.zoo_storages import SERVERS, Exhibit


@pytest.fixture(scope="module")
def cluster(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A PostgreSQL and a Redis."""
    specs = (ServerSpec(name=name, system=system) for system, name in SERVERS.items())
    with started(local_engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        yield cluster


@pytest.fixture
def exhibit(cluster: Cluster) -> Iterator[Any]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(Exhibit(name, cluster)))
