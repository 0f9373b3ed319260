"""Failover of real PostgreSQL servers that Patroni runs over a real etcd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Cluster
from harness.nemesis.fault import InjectedFault
from harness.nemesis.patroni_failover import patroni_failover
from harness.nemesis.postgres_failover import OldPrimary
from harness.network import postgres_server
from harness.network.topology import Link, ServerSpec, Topology
from tests.support.replicated_postgres import address, read, settings, surviving, write
from tests.support.waiting import wait_for
from workloads.client import Unknown
from workloads.storages import postgres

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(700)]

LINK = Link("postgres-standby", "postgres")
SHORT = 0.5  # s; for a write that is not answered


@pytest.fixture
def started(docker_engine: Any, run_id: str, tmp_path: Path) -> Any:
    """Return what starts servers that replicate, with the register r0."""

    @contextmanager
    def started(*, synchronous: bool) -> Iterator[Cluster]:
        servers = (
            ServerSpec(name="etcd-1", system="etcd", cluster="lock"),
            ServerSpec(name="postgres", system="postgres", synchronous=synchronous, manager="patroni"),
            ServerSpec(name="postgres-standby", system="postgres", follows="postgres", manager="patroni"),
        )
        topology = Topology(servers=servers, clients=2, partitions=True)
        with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
            postgres.set_up(settings(address(cluster, "postgres")), ["r0"])
            yield cluster

    return started


def replaced(
    cluster: Cluster, old_primary: OldPrimary, hold: Callable[[], None]
) -> AbstractContextManager[InjectedFault]:
    return patroni_failover(cluster, "storage", LINK, (0, 1), old_primary, hold)


def roles(cluster: Cluster) -> list[tuple[bool, int | None]]:
    """Return of both servers whether it is in recovery, and its timeline."""
    found = [postgres_server.role(address(cluster, name)) for name in ("postgres", "postgres-standby")]
    return [(role.in_recovery, role.timeline) for role in found]


def test_patroni_promotes_a_standby_that_lags_and_rewinds_the_old_primary(started: Any) -> None:
    with started(synchronous=False) as cluster:
        write(cluster, 1)
        assert wait_for(lambda: "w1" in postgres_server.writes(address(cluster, "postgres-standby"))), (
            "the standby has what was written before its link was held"
        )

        def acknowledge() -> None:
            write(cluster, 2)
            write(cluster, 3)

        with replaced(cluster, "killed", acknowledge) as fault:
            seen = read(cluster)
            write(cluster, 4, client=1)

        assert seen == "w1"
        assert "2 accepted writes (w2, w3) had not arrived" in fault.evidence
        assert "postgres-standby is a primary on timeline 3, and answers over every edge" in fault.evidence
        assert "postgres is replica, streaming, on timeline 3" in fault.healed
        assert roles(cluster) == [(True, 3), (False, 3)]
        assert surviving(cluster) == ["w1", "w4"]


@pytest.mark.nightly
def test_in_synchronous_mode_a_paused_primary_loses_no_acknowledged_write(started: Any) -> None:
    with started(synchronous=True) as cluster:
        write(cluster, 1)

        def wait_in_vain() -> None:
            with pytest.raises(Unknown):
                write(cluster, 2, timeout=SHORT)

        with replaced(cluster, "paused", wait_in_vain) as fault:
            write(cluster, 3)

        assert ", and 0 accepted writes had not arrived" in fault.evidence
        assert "postgres is sync_standby, streaming, on timeline 3" in fault.healed
        assert roles(cluster) == [(True, 3), (False, 3)]
        assert surviving(cluster) == ["w1", "w3"]
