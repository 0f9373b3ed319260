"""Targets whose Redis is Valkey."""

from __future__ import annotations

import pytest

from harness.engines import local_systems
from harness.network.topology import Topology
from harness.run import deployment
from harness.spec import load
from tests.support.target_files import SMALL, errors_in

VALKEY = ("lock.flavour=valkey",)


@pytest.mark.parametrize("name", ["redis-postgres", "redis-postgres-failover", "redlock-postgres-unfenced"])
def test_every_server_of_the_lock_is_of_its_flavour(name: str) -> None:
    servers = topology(name).servers

    assert {server.image for server in servers if server.cluster == "lock"} == {"fencepost/valkey"}
    assert {server.image for server in servers if server.cluster == "storage"} == {None}


def test_an_image_of_the_user_is_run_as_it_is() -> None:
    (lock, _) = topology("redis-postgres", "lock.image=valkey/valkey:8.1").servers

    assert lock.image == "valkey/valkey:8.1"


def test_valkey_needs_docker() -> None:
    assert "runs no images, and redis-1 is fencepost/valkey" in str(
        local_systems.never(topology("redis-redis"))
    )


def test_another_flavour_is_refused() -> None:
    (error,) = errors_in(SMALL.replace('kind = "etcd"', 'kind = "redis"\nflavour = "keydb"'))

    assert "lock.flavour" in error


def topology(name: str, *overrides: str) -> Topology:
    target = load(name, (*VALKEY, *overrides))
    return deployment.topology(target, target.faults)
