"""Stop a server, with all the processes it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import docker
import psutil

from harness.core.errors import FaultNotInstalledError
from harness.engines.docker import DockerCluster
from harness.engines.docker_containers import containers_of
from harness.engines.engine import Cluster
from harness.engines.local import LocalCluster
from harness.nemesis.pause import pause
from tests.support.scripts import ScriptCluster


@contextmanager
def frozen(cluster: Cluster, name: str) -> Iterator[None]:
    """Hold every process of those servers stopped whose names begin so, for as long as the block lasts."""
    with ExitStack() as stack:
        if isinstance(cluster, DockerCluster):
            _freeze_containers(stack, cluster, name)
        if isinstance(cluster, LocalCluster | ScriptCluster):
            _stop_children(stack, cluster, name)
        yield


def _freeze_containers(stack: ExitStack, cluster: DockerCluster, name: str) -> None:
    client = stack.enter_context(closing(docker.from_env()))
    for each in containers_of(client, cluster.run_id).values():
        if each.name.startswith(name):
            each.freeze()
            stack.callback(each.thaw)


def _stop_children(stack: ExitStack, cluster: LocalCluster | ScriptCluster, name: str) -> None:
    for child in cluster.children:
        if child.name.startswith(name):
            main = psutil.Process(child.process.pid)
            stack.enter_context(pause(main, name))  # from now on it starts no others
            for process in main.children(recursive=True):
                _stop(stack, process, name)


def _stop(stack: ExitStack, process: psutil.Process, name: str) -> None:
    """Stop a backend, unless it ends by itself just now."""
    try:
        stack.enter_context(pause(process, name))
    except (FaultNotInstalledError, psutil.NoSuchProcess):
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            raise
