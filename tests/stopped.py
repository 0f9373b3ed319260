"""Stop a server that the local engine runs, with all the processes it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from harness.engines.local import LocalCluster
from harness.errors import FaultNotInstalledError
from harness.nemesis.pause import pause


@contextmanager
def frozen(cluster: LocalCluster, name: str) -> Iterator[None]:
    """Hold every process of a server stopped for as long as the block lasts."""
    with ExitStack() as stack:
        for child in cluster.children:
            if child.name.startswith(name):
                main = psutil.Process(child.process.pid)
                stack.enter_context(pause(main, name))  # from now on it starts no others
                for process in main.children(recursive=True):
                    _stop(stack, process, name)
        yield


def _stop(stack: ExitStack, process: psutil.Process, name: str) -> None:
    """Stop a backend, unless it ends by itself just now."""
    try:
        stack.enter_context(pause(process, name))
    except (FaultNotInstalledError, psutil.NoSuchProcess):
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            raise
