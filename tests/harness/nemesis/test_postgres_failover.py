"""Failover of real PostgreSQL servers, observed over the clients' edges, also where Patroni runs them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster, Engine
from harness.nemesis.fault import InjectedFault
from harness.nemesis.patroni_failover import patroni_failover
from harness.nemesis.postgres_failover import OldPrimary, postgres_failover
from harness.network import postgres_server
from harness.network.topology import Link, NetworkEdge, ServerSpec, Topology
from tests.support.replicated_postgres import address, read, settings, surviving, write
from tests.support.selection import BOTH_ENGINES, nightly
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown
from workloads.storages import postgres

pytestmark = pytest.mark.engine

LINK = Link("postgres-standby", "postgres")
PRIMARY = ServerSpec(name="postgres", system="postgres")
STANDBY = ServerSpec(name="postgres-standby", system="postgres", follows="postgres")
ASYNCHRONOUS = Topology(servers=(PRIMARY, STANDBY), clients=2, partitions=True)
SYNCHRONOUS = replace(ASYNCHRONOUS, servers=(replace(PRIMARY, synchronous=True), STANDBY))
SHORT = 0.5  # s; for a write that is not answered


@pytest.fixture(params=BOTH_ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture
def cluster(engine: Any, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    """Servers that replicate asynchronously, with the register r0."""
    with engine.start(ASYNCHRONOUS, run_id, tmp_path, print) as cluster:
        postgres.set_up(settings(address(cluster, "postgres")), ["r0"])
        yield cluster


@pytest.fixture
def local_cluster(local_engine: Engine, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    """The same, for what does not differ between the engines."""
    with local_engine.start(ASYNCHRONOUS, run_id, tmp_path, print) as cluster:
        postgres.set_up(settings(address(cluster, "postgres")), ["r0"])
        yield cluster


@pytest.fixture
def synchronous_cluster(engine: Any, run_id: str, tmp_path: Path) -> Iterator[Cluster]:
    """Servers that replicate synchronously, with the register r0."""
    with engine.start(SYNCHRONOUS, run_id, tmp_path, print) as cluster:
        postgres.set_up(settings(address(cluster, "postgres")), ["r0"])
        yield cluster


def promoted(
    cluster: Cluster,
    old_primary: OldPrimary = "killed",
    hold: Callable[[], None] | None = None,
    left: Sequence[int] = (),
) -> AbstractContextManager[InjectedFault]:
    moved = [client for client in (0, 1) if client not in left]
    return postgres_failover(cluster, "storage", LINK, (moved, left), old_primary, hold)


def write_on_both(cluster: Cluster, token: int) -> None:
    """Write, and wait until the standby has it."""
    write(cluster, token)
    standby = address(cluster, "postgres-standby")
    assert wait_for(lambda: f"w{token}" in postgres_server.writes(standby))


def roles(cluster: Cluster) -> list[tuple[bool, int | None]]:
    """Return of both servers whether it is in recovery, and its timeline."""
    found = [postgres_server.role(address(cluster, name)) for name in (PRIMARY.name, STANDBY.name)]
    return [(role.in_recovery, role.timeline) for role in found]


@pytest.mark.slow
def test_every_edge_leads_to_the_standby_and_the_old_primary_follows_it(cluster: Cluster) -> None:
    before = roles(cluster)
    write_on_both(cluster, 1)

    with promoted(cluster) as fault:
        during = postgres_server.role(address(cluster, "postgres-standby"))
        write(cluster, 2, client=1)

    assert before == [(False, 1), (True, 1)]
    assert (during.in_recovery, during.timeline) == (False, 2)
    assert roles(cluster) == [(True, 2), (False, 2)]
    assert "postgres-standby is a primary on timeline 2, and answers over every edge" in fault.evidence
    assert "postgres is a standby on timeline 2" in fault.healed
    assert surviving(cluster) == ["w1", "w2"]
    write(cluster, 3)


@pytest.mark.slow
def test_writes_acknowledged_while_the_link_is_held_are_lost(cluster: Cluster) -> None:
    write_on_both(cluster, 1)

    def acknowledge() -> None:
        write(cluster, 2)
        write(cluster, 3)

    with promoted(cluster, hold=acknowledge) as fault:
        assert read(cluster) == "w1"
        write(cluster, 2, client=1)  # the mark has gone back, too

    assert "2 accepted writes (w2, w3) had not arrived" in fault.evidence
    assert surviving(cluster) == ["w1", "w2"]


@pytest.mark.slow
def test_a_synchronous_commit_is_not_acknowledged_on_a_held_link(synchronous_cluster: Cluster) -> None:
    cluster = synchronous_cluster
    write(cluster, 1)

    def wait_in_vain() -> None:
        with pytest.raises(Unknown):
            write(cluster, 2, timeout=SHORT)
        assert read(cluster) == "w1", "visible before it is safe"

    with promoted(cluster, hold=wait_in_vain) as fault:
        write(cluster, 3)  # the new primary has no standby to wait for

    assert ", and 0 accepted writes had not arrived" in fault.evidence
    assert surviving(cluster) == ["w1", "w3"]


@pytest.mark.slow
@pytest.mark.parametrize("old_primary", ["paused", *nightly("cut-off")])
def test_an_old_primary_that_goes_on_accepts_lost_writes(cluster: Cluster, old_primary: OldPrimary) -> None:
    write_on_both(cluster, 1)

    with promoted(cluster, old_primary, left=[1]) as fault:
        during = roles(cluster)
        write(cluster, 5, client=1)
        write(cluster, 3, client=0)
        seen = read(cluster, 0), read(cluster, 1)
        with pytest.raises(NotApplied, match=r"must be one primary among .+, but there are 2$"):
            surviving(cluster)

    assert during == [(False, 1), (False, 2)]
    assert seen == ("w3", "w5")
    assert (
        "two primaries: postgres-standby is a primary on timeline 2; postgres is a primary on timeline 1"
        in (fault.evidence)
    )
    assert fault.left_behind == (1,)
    assert "only the old primary had 1 accepted write (w5)" in fault.healed
    assert roles(cluster) == [(True, 2), (False, 2)]
    assert (read(cluster, 0), read(cluster, 1)) == ("w3", "w3")
    assert surviving(cluster) == ["w1", "w3"]


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_a_synchronous_old_primary_acknowledges_nothing_any_more(synchronous_cluster: Cluster) -> None:
    cluster = synchronous_cluster
    write(cluster, 1)

    with promoted(cluster, "paused", left=[1]):
        with pytest.raises(Unknown):
            write(cluster, 2, client=1, timeout=SHORT)
        write(cluster, 3, client=0)
        stale = read(cluster, 1)

    assert stale == "w1"
    assert surviving(cluster) == ["w1", "w3"]


@pytest.mark.slow
def test_an_interrupted_hold_is_undone(local_cluster: Cluster) -> None:
    cluster = local_cluster

    def interrupt() -> None:
        write(cluster, 1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), promoted(cluster, hold=interrupt):
        pass

    write(cluster, 2, client=1)
    assert roles(cluster)[0] == (False, 1)
    assert surviving(cluster) == ["w1", "w2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "old_primary"), [("local", "killed"), *nightly(("docker", "paused"))], indirect=["engine"]
)
def test_the_old_primary_follows_if_the_block_is_cut_short(cluster: Cluster, old_primary: OldPrimary) -> None:
    left = [] if old_primary == "killed" else [1]

    with pytest.raises(ZeroDivisionError), promoted(cluster, old_primary, left=left):
        raise ZeroDivisionError

    assert roles(cluster) == [(True, 2), (False, 2)]
    write(cluster, 1, client=1)
    assert surviving(cluster) == ["w1"]


@pytest.mark.slow
def test_no_server_but_a_standby_is_promoted(local_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = local_cluster
    monkeypatch.setattr("harness.nemesis.postgres_failover.SETTLING", 0.1)
    postgres_server.promote(address(cluster, "postgres-standby"))

    with (
        pytest.raises(FaultNotInstalledError, match="postgres-standby is a primary on timeline 2"),
        promoted(cluster),
    ):
        pass

    assert cluster.toxiproxy is not None
    assert cluster.toxiproxy.state(NetworkEdge(0, "postgres")).enabled


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


@pytest.mark.nightly
@pytest.mark.timeout(700)
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
@pytest.mark.timeout(700)
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
