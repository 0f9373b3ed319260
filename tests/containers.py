"""Stop a server that the Docker engine runs, with all the processes it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import docker

from harness.engines.docker import DockerCluster
from harness.engines.docker_containers import containers_of


@contextmanager
def frozen(cluster: DockerCluster, *names: str) -> Iterator[None]:
    """Hold servers in the kernel's freezer for as long as the block lasts."""
    with closing(docker.from_env()) as client:
        containers = containers_of(client, cluster.run_id)
        for name in names:
            containers[name].freeze()
        try:
            yield
        finally:
            for name in names:
                containers[name].thaw()
