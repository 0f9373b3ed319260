"""The Docker API, and the objects of a run on Docker."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import docker
import pytest

from harness.engines.engine import Engine
from harness.processes import ownership


@pytest.fixture(scope="module")
def client(docker_engine: Engine) -> Iterator[Any]:  # noqa: ARG001 (without one, the test is skipped)
    with closing(docker.from_env()) as found:
        yield found


@pytest.fixture
def things(client: Any) -> Any:
    """List the containers, networks and volumes of a run."""

    def of(run_id: Any) -> list[Any]:
        wanted = {"label": f"{ownership.RUN}={run_id}"}
        return [
            *client.api.containers(all=True, filters=wanted),
            *client.api.networks(filters=wanted),
            *client.api.volumes(filters=wanted)["Volumes"],
        ]

    return of
