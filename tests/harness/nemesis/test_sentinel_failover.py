"""Failover by real sentinels, observed over the clients' edges and by clients of a lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster, Engine
from harness.nemesis.postgres_failover import OldPrimary
from harness.nemesis.sentinel_failover import sentinel_failover
from harness.network import redis_server, sentinel_server
from harness.run import deployment
from harness.spec import load
from tests.support.systems import Memory, redis_at
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown
from workloads.locks import connect

pytestmark = [pytest.mark.engine, pytest.mark.timeout(700)]

MOVED, LEFT = 0, 1  # clients: what the last one reaches, if the primary is cut off


@pytest.fixture
def started(docker_engine: Engine, run_id: str, tmp_path: Path) -> Callable[..., Any]:
    """Start the servers of a target; give the cluster, and a client of the lock for each of two."""

    @contextmanager
    def started(*settings: str) -> Iterator[tuple[Cluster, Any, Any]]:
        target = load("redis-postgres-sentinel", ("storage.kind=sqlite", "workload.clients=2", *settings))
        topology = deployment.topology(target, target.faults)
        with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
            clients = [
                connect(
                    deployment.lock_settings(target, ways, tmp_path, client, 1.0, ""),
                    RecordedSession(Memory(), process=client, stride=2),
                )
                for client in (MOVED, LEFT)
                for ways in [[cluster.edge(client, name) for name in target.lock.servers]]
            ]
            yield cluster, clients[MOVED], clients[LEFT]
            for client in clients:
                client.close()

    return started


def replaced(cluster: Cluster, old_primary: OldPrimary) -> Any:
    return sentinel_failover(cluster, "lock", (MOVED, LEFT), old_primary)


def granted(client: Any) -> int:
    """The token of a grant, which is released."""
    token: int = client.acquire("r0", "owner").token
    client.release("r0", "owner")
    return token


def granted_after_reconnecting(client: Any) -> int:
    """The same from a client whose connection may be to a primary that has ended."""

    def tried() -> int | None:
        try:
            return granted(client)
        except (NotApplied, Unknown):
            client.reconnect()
            return None

    token: int = wait_for(tried)
    return token


def replicated(cluster: Cluster) -> None:
    """Wait until both replicas have every grant."""
    assert redis_at(at(cluster, "redis-1")).execute("WAIT", 2, 10_000) == 2


def at(cluster: Cluster, name: str) -> Any:
    return next(server.address for server in cluster.servers if server.name == name)


def roles(cluster: Cluster) -> list[str]:
    return sorted(redis_server.role(at(cluster, f"redis-{number}")).role for number in (1, 2, 3))


def primaries(cluster: Cluster) -> set[str]:
    """The primaries that the sentinels name."""
    return {sentinel_server.watched(at(cluster, f"sentinel-{number}")).primary for number in (1, 2, 3)}


@pytest.mark.slow
def test_a_primary_that_is_cut_off_grants_tokens_that_are_issued_again(started: Any) -> None:
    with started() as (cluster, moved, left):
        assert (granted(moved), granted(left)) == (1, 2)
        replicated(cluster)

        with replaced(cluster, "cut-off") as fault:
            lost, again = granted(left), granted_after_reconnecting(moved)
            during = primaries(cluster)
        kept = granted_after_reconnecting(left)

        assert (lost, again, kept) == (3, 3, 4)
        assert "redis-1" not in during
        assert primaries(cluster) == during
        assert roles(cluster) == ["master", "slave", "slave"]
        assert fault.left_behind == (LEFT,)
        assert "cut off redis-1 and client 1 from the other servers and client 0" in fault.evidence
        assert "redis-1 reports role master, and answers client 1" in fault.evidence
        assert "(master, epoch 1, 2 replicas)" in fault.healed


@pytest.mark.nightly
def test_a_primary_without_replicas_stops_granting_before_another_leads(started: Any) -> None:
    with started("lock.min_replicas_to_write=1") as (cluster, moved, left):
        assert granted(left) == 1
        replicated(cluster)

        with replaced(cluster, "cut-off"):
            with pytest.raises(NotApplied, match="NOREPLICAS"):
                left.acquire("r0", "owner")
            again = granted_after_reconnecting(moved)

        assert again == 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old_primary", "flavour", "seen"),
    [
        ("killed", "redis", "SIGKILL, and Docker shows redis-1 exited"),
        ("killed", "valkey", "SIGKILL, and Docker shows redis-1 exited"),
        ("paused", "redis", "the freezer, and Docker shows redis-1 paused"),
    ],
)
def test_a_primary_that_stops_is_replaced_and_follows_the_new_one(
    old_primary: OldPrimary, flavour: str, seen: str, started: Any
) -> None:
    with started(f"lock.flavour={flavour}") as (cluster, moved, left):
        assert (granted(moved), granted(left)) == (1, 2)
        replicated(cluster)

        with replaced(cluster, old_primary) as fault:
            during = granted_after_reconnecting(moved)
        after = granted_after_reconnecting(left)

        assert (during, after) == (3, 4)
        assert roles(cluster) == ["master", "slave", "slave"]
        assert fault.evidence.startswith(seen)
        assert "and answers clients 0, 1" in fault.evidence
