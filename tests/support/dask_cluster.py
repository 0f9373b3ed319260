"""A Dask cluster on this machine, with two worker processes that have one engine each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import psutil


@contextmanager
def two_workers() -> Iterator[Any]:
    """Start the scheduler in this process, and its workers in two others."""
    local: Any = import_module("distributed").LocalCluster
    with local(
        n_workers=2, threads_per_worker=1, processes=True, resources={"engine": 1}, dashboard_address=None
    ) as cluster:
        yield cluster


def workers(cluster: Any) -> list[psutil.Process]:
    """Return the worker processes; a nanny replaces one that dies."""
    return [psutil.Process(nanny.pid) for nanny in cluster.workers.values() if nanny.pid is not None]
