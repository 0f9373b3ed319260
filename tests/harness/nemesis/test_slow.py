"""Slow networks on real servers of both engines: late or slow while in force, fast afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis import slow as slow_network
from harness.nemesis.slow import slow
from harness.network.systems import POSTGRES_LOGIN
from harness.network.topology import NetworkEdge
from tests.support.crossed import Crossed
from tests.support.target_files import error_in, read, target_text
from tests.support.waiting import wait_for

SERVERS = ["etcd-1", "postgres"]
JITTER = 400 * NS["ms"]


@pytest.fixture
def postgres(cluster: Cluster) -> Iterator[Any]:
    """Client 0's own open connection; returns how long a statement with some bytes takes (s)."""
    edge = cluster.edge(0, "postgres")
    login = f"host={edge.host} port={edge.port} {POSTGRES_LOGIN}"
    with psycopg.connect(login, password=edge.login.password or None, autocommit=True) as connection:

        def seconds(size: int = 1) -> float:
            started = time.monotonic()
            connection.execute("SELECT length(%s)", ["x" * size])
            return time.monotonic() - started

        yield seconds


def toxics(cluster: Any, client: int = 0) -> list[str]:
    return [str(cluster.toxiproxy.state(NetworkEdge(client, server))) for server in SERVERS]


@pytest.mark.engine
def test_messages_are_late_by_varying_times(cluster: Any, postgres: Any) -> None:
    with slow(cluster, 0, SERVERS, jitter=JITTER, rate=None) as fault:
        during = [postgres() for _ in range(12)]
        shown = toxics(cluster)
        evidence, healed_during = fault.evidence, fault.healed

    assert min(during) < 0.3
    assert max(during) - min(during) > 0.1
    assert shown == ["latency 0 to 400 ms toxic upstream"] * 2
    assert "ms late since" in evidence
    assert not healed_during
    assert toxics(cluster) == ["no toxic"] * 2
    assert wait_for(lambda: max(postgres() for _ in range(5)) < 0.1)  # once the machine lets it


@pytest.mark.engine
def test_messages_arrive_at_a_low_rate(cluster: Any, postgres: Any) -> None:
    with slow(cluster, 0, SERVERS, jitter=None, rate=10) as fault:
        during = postgres(20_000)
        evidence = fault.evidence

    assert 1.5 < during < 5
    assert "Toxiproxy shows bandwidth 10 KB/s toxic upstream" in evidence
    assert toxics(cluster) == ["no toxic"] * 2
    assert postgres(20_000) < 0.5


@pytest.mark.engine
def test_other_clients_keep_a_fast_network(cluster: Any) -> None:
    with slow(cluster, 0, ["postgres"], jitter=JITTER, rate=100):
        during, other = toxics(cluster), toxics(cluster, client=1)

    assert during == ["no toxic", "bandwidth 100 KB/s toxic upstream and latency 0 to 400 ms toxic upstream"]
    assert other == ["no toxic"] * 2


@pytest.mark.engine
def test_a_network_is_fast_again_when_the_block_is_cut_short(cluster: Any) -> None:
    with pytest.raises(KeyboardInterrupt), slow(cluster, 0, SERVERS, jitter=JITTER, rate=10):
        raise KeyboardInterrupt

    assert toxics(cluster) == ["no toxic"] * 2


@pytest.mark.slow
@pytest.mark.engine
def test_a_network_that_stays_fast_is_not_slow(local_cluster: Cluster, monkeypatch: Any) -> None:
    """Toxiproxy slows another client's edge than the probed one.

    The jitter is so long that no answer of a busy machine looks like it.
    """
    monkeypatch.setattr(slow_network, "PROVING", 0.5)

    with (
        pytest.raises(FaultNotInstalledError, match="client:0 → etcd-1 still answers in time"),
        slow(Crossed(local_cluster), 0, ["etcd-1"], jitter=10 * JITTER, rate=None),
    ):
        pass


def slowed(keys: str) -> str:
    fault = '[[faults]]\nkind = "slow"\ntarget = "holder"\nto = "both"\nlasts = "1 ttl"'
    return target_text(f"{fault}\n{keys}")


def test_a_slow_network_is_read_with_its_jitter_and_rate() -> None:
    (fault,) = read(slowed('jitter = "300ms"\nrate = "10KB/s"\n')).faults

    assert (fault.jitter, fault.rate, fault.aim()) == (300 * NS["ms"], 10, ("lock", "storage"))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("", "needs jitter, or rate, or both"),
        ('jitter = "1ms"\n', "jitter must be 50ms to 10s"),
        ('rate = "10"\n', "whole number of kilobytes a second"),
        ('rate = "0KB/s"\n', "whole number of kilobytes a second"),
    ],
)
def test_an_impossible_slow_network_is_refused(keys: str, problem: str) -> None:
    assert problem in error_in(slowed(keys))
