"""What tests of several clients need: a resource, and an S3 server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec
from tests.support.systems import endpoints, names, started


@pytest.fixture
def resource() -> str:
    return next(names)


@pytest.fixture(scope="module")
def s3_server(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = ServerSpec(name="s3", system="s3")
    with started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def s3_endpoint(s3_server: Cluster) -> str:
    return endpoints(s3_server, "s3")[0]
