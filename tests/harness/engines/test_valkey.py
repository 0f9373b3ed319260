"""Valkey on Docker, with the clients of Redis."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from harness.bench.native import NativeTools
from harness.engines.engine import Engine
from harness.network.topology import Link
from harness.run import deployment
from harness.spec import load
from tests.support.systems import endpoints, lock_clients, redis_at
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown

LINK = Link("redis-replica", "redis-1")
FLAVOURS = ("lock.flavour=valkey", "storage.flavour=valkey")


@pytest.mark.slow
def test_valkey_grants_locks_and_is_measured_by_its_own_tool(
    docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    target = load("redis-redis", FLAVOURS)

    with docker_engine.start(deployment.topology(target, ()), run_id, tmp_path, print) as cluster:
        versions = {about["version"] for about in cluster.environment()["servers"].values()}
        with lock_clients() as open_one:
            lock, _ = open_one("redis", endpoints(cluster, "redis")[:1], token="counter")
            tokens = [grant_and_release(lock, f"0-{hold}") for hold in range(3)]
        measured = dict(NativeTools(target, cluster).of_loads(0.02))

    (version,) = versions
    assert re.fullmatch(r"Valkey 8\.1\.\d+", version)
    assert tokens == [1, 2, 3]
    assert {each.tool for each in measured.values()} == {"valkey-benchmark"}
    assert all(each.rate > 0 for each in measured.values())


def grant_and_release(lock: Any, owner: str) -> int:
    token: int = lock.acquire("r0", owner).token
    lock.release("r0", owner)
    return token


@pytest.mark.slow
def test_a_primary_that_its_replica_no_longer_answers_refuses_writes(
    docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    replicated = ("lock.flavour=valkey", "lock.replica=true", "lock.min_replicas_to_write=1")
    target = load("redis-postgres-failover", (*replicated, "storage.kind=sqlite"))

    with docker_engine.start(deployment.topology(target, ()), run_id, tmp_path, print) as cluster:
        primary = redis_at(cluster.edge(0, "redis-1"))
        wait_for(lambda: is_written(primary))
        began = time.monotonic()
        cluster.toxiproxy.hold(LINK)
        acknowledged = is_written(primary)
        wait_for(lambda: not is_written(primary))
        took = time.monotonic() - began

    assert acknowledged  # for as long as the last answer of the replica is not a lag too old
    assert took > 0.5


def is_written(primary: Any) -> bool:
    """Is a write acknowledged?"""
    try:
        primary.execute("SET", "probe", 1)
    except (NotApplied, Unknown) as error:
        if "NOREPLICAS" not in str(error):
            raise
        return False
    return True
