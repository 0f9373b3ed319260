"""Toxiproxy on a real server: each change is read back, and affects no other run."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import FaultNotInstalledError, InfrastructureError
from harness.engines.engine import Cluster, Engine
from harness.network.probe import reply
from harness.network.topology import Address, NetworkEdge, Topology
from harness.network.toxiproxy import Toxiproxy

EDGE = NetworkEdge(0, "etcd-1")


@pytest.fixture
def toxiproxy(local_cluster: Cluster) -> Iterator[Any]:
    yield local_cluster.toxiproxy
    for server in ("etcd-1", "postgres"):
        for client in (0, 1):
            local_cluster.toxiproxy.heal(NetworkEdge(client, server))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "streams"),
    [("both", {"upstream", "downstream"}), ("to-server", {"upstream"}), ("to-client", {"downstream"})],
)
def test_a_cut_shows_in_its_direction_until_healed(toxiproxy: Any, direction: Any, streams: set[str]) -> None:
    cut = toxiproxy.cut(EDGE, direction)
    healed = toxiproxy.heal(EDGE)

    assert cut.cut == streams
    assert healed.cut == frozenset()


def test_a_cut_does_not_affect_other_edges(toxiproxy: Any) -> None:
    toxiproxy.cut(EDGE, "both")

    assert toxiproxy.state(NetworkEdge(1, "etcd-1")).cut == frozenset()
    assert toxiproxy.state(NetworkEdge(0, "postgres")).cut == frozenset()


def answers(cluster: Cluster, server: str, within: float) -> bool:
    return reply(cluster.edge(0, server), server.partition("-")[0], within) is not None


def test_data_sent_on_a_held_edge_arrives_when_it_heals(toxiproxy: Any, local_cluster: Cluster) -> None:
    held = toxiproxy.hold(EDGE)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(answers, local_cluster, "etcd-1", 10.0)
        silent = answers(local_cluster, "etcd-1", 0.3)
        healed = toxiproxy.heal(EDGE)

        assert asked.result()
    assert (held.held, held.cut) == ({"upstream", "downstream"}, frozenset())
    assert str(held) == "bandwidth 0 toxic upstream+downstream"
    assert not silent
    assert healed.held == frozenset()


def test_a_closed_edge_is_silent_until_it_is_redirected(toxiproxy: Any, local_cluster: Any) -> None:
    own = toxiproxy.state(EDGE).upstream
    closed = toxiproxy.close(EDGE)
    during = answers(local_cluster, "etcd-1", 0.3)
    elsewhere = toxiproxy.redirect(EDGE, local_cluster.servers[-1].upstream)
    stranger = answers(local_cluster, "etcd-1", 0.3)
    toxiproxy.redirect(EDGE, own)

    assert str(closed) == "proxy disabled"
    assert not during
    assert elsewhere.enabled
    assert not stranger  # PostgreSQL does not answer etcd's request
    assert answers(local_cluster, "etcd-1", 2.0)


def test_a_recreated_edge_keeps_its_address_and_holds_nothing(toxiproxy: Any, local_cluster: Cluster) -> None:
    before = toxiproxy.state(EDGE)
    toxiproxy.hold(EDGE)

    after = toxiproxy.replace(EDGE, before.upstream)

    assert after == before
    assert answers(local_cluster, "etcd-1", 2.0)


def test_an_edge_is_not_cut_twice(toxiproxy: Any) -> None:
    toxiproxy.cut(EDGE, "to-server")

    with pytest.raises(InfrastructureError, match="toxic already exists"):
        toxiproxy.cut(EDGE, "both")


def test_a_change_meant_for_another_run_is_refused(toxiproxy: Any) -> None:
    other = replace(toxiproxy, run_id="another-run")

    with pytest.raises(InfrastructureError, match="proxy not found"):
        other.cut(EDGE, "both")


def test_a_disabled_proxy_is_not_a_cut(toxiproxy: Any) -> None:
    toxiproxy._call("post", f"/proxies/{EDGE.proxy_name(toxiproxy.run_id)}", json={"enabled": False})
    try:
        with pytest.raises(FaultNotInstalledError, match="proxy disabled"):
            toxiproxy.cut(EDGE, "both")
    finally:
        toxiproxy._call("post", f"/proxies/{EDGE.proxy_name(toxiproxy.run_id)}", json={"enabled": True})


@pytest.mark.slow
def test_two_servers_are_not_mixed_up(
    toxiproxy: Any, local_engine: Engine, make_topology: Callable[..., Topology], run_id: str, tmp_path: Path
) -> None:
    """The library keeps the address of one server for the whole process."""
    with local_engine.start(make_topology(partitions=True), run_id, tmp_path, print) as second:
        seen = {}

        def look(cluster: Any, name: Any) -> None:
            seen[name] = {str(cluster.state(EDGE).listen) for _ in range(50)}

        threads = [
            threading.Thread(target=look, args=(each, each.run_id)) for each in (toxiproxy, second.toxiproxy)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert seen == {
            toxiproxy.run_id: {str(toxiproxy.state(EDGE).listen)},
            run_id: {str(second.edge(0, "etcd-1"))},
        }


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_proxy_settings_in_the_environment_are_ignored(
    toxiproxy: Any, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")

    assert toxiproxy.version() == "2.12.0"


def test_a_taken_port_is_reported(toxiproxy: Any) -> None:
    taken = toxiproxy.state(EDGE).listen

    with pytest.raises(InfrastructureError, match="address already in use"):
        toxiproxy.create({NetworkEdge(7, "etcd-1"): (taken, Address("127.0.0.1", 1))})


def test_a_silent_toxiproxy_is_reported() -> None:
    nowhere = Toxiproxy(Address("127.0.0.1", 1), "run")

    assert not nowhere.answers()
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:1"):
        nowhere.state(EDGE)
