"""What tests of several clients need: a resource, and an S3 server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import endpoints, names, started


@pytest.fixture
def resource() -> str:
    return next(names)


@pytest.fixture(scope="module")
def s3_endpoint(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ServerSpec(name="s3", system="s3")
    with started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield endpoints(cluster, "s3")[0]
