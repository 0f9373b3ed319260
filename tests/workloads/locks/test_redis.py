"""The lock on Redis or Valkey, where it differs from the other locks."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.selection import nightly
from tests.support.systems import TTL, endpoints, lock_clients, redis_at, started
from workloads.client import NotApplied
from workloads.locks.redis import lock_key, token_key
from workloads.redis_sentinel import find_primary
from workloads.settings import RedisLockSettings


def test_a_client_that_reaches_no_sentinel_has_sent_nothing() -> None:
    settings = RedisLockSettings(
        kind="redis",
        endpoints=(),
        sentinels=("127.0.0.1:1",),
        timeout=1.0,
        ttl=TTL,
        client=0,
        token="counter",
    )

    with pytest.raises(NotApplied, match=r"^not connected: no sentinel that was reached names a primary$"):
        find_primary(settings)


@pytest.mark.slow
@pytest.mark.parametrize("image", [None, *nightly("fencepost/valkey")])
def test_a_primary_without_replicas_certainly_grants_nothing(
    image: str | None, docker_engine: Engine, tmp_path: Path
) -> None:
    alone = ServerSpec(
        name="redis-1", system="redis", image=image, variables={"FENCEPOST_REDIS_MIN_REPLICAS": "1"}
    )

    with started(docker_engine, tmp_path, alone) as cluster, lock_clients() as open_one:
        lock, _ = open_one("redis", endpoints(cluster, "redis"), token="counter")
        with pytest.raises(NotApplied, match="NOREPLICAS"):
            lock.acquire("r0", "0-1")
        left = redis_at(cluster.servers[0].address).execute("EXISTS", lock_key("r0"), token_key("r0"))

    assert left == 0
