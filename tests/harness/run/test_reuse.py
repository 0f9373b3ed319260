"""Which targets have runs that can share servers."""

import pytest

from harness.core.errors import ConfigurationError
from harness.run.reuse import servers_to_reuse
from harness.spec import Target, load
from harness.spec.reading import in_folder, shipped_folder


def servers(name: str, *changes: str, by_default: bool = True) -> str:
    return servers_to_reuse(load(name, changes), by_default=by_default)


def test_targets_with_the_same_servers_can_share_them() -> None:
    fenced, unfenced = servers("etcd-postgres"), servers("etcd-postgres-unfenced")

    assert fenced == unfenced == "5 clients: etcd-1 (lock), etcd-2 (lock), etcd-3 (lock), postgres (storage)"


@pytest.mark.parametrize(
    "change", ["lock.nodes=1", "workload.clients=6", 'storage.image="postgres:17"', "lock.kind=etcd-lock"]
)
def test_what_decides_which_servers_start_keeps_runs_apart(change: str) -> None:
    same = change == "lock.kind=etcd-lock"

    assert (servers("etcd-postgres", change) == servers("etcd-postgres")) is same


def test_a_target_decides_before_its_campaign() -> None:
    assert servers("redis-redis", "reuse=true", by_default=False)
    assert not servers("redis-redis", "reuse=false")
    assert not servers("redis-redis", by_default=False)


@pytest.mark.parametrize(
    "name", ["etcd-postgres-kill", "redis-postgres-failover", "redlock-postgres-clock", "redis-sqlite"]
)
def test_faults_on_servers_exclude_it_and_cuts_do_not(name: str) -> None:
    assert bool(servers(name, "reuse=true")) is (name == "redis-sqlite")
    assert servers("etcd-postgres-partition") == servers("etcd-postgres")


def test_the_zoos_classes_get_servers_of_their_own() -> None:
    zoo: list[Target] = [load(path) for path in in_folder(shipped_folder() / "zoo").values()]
    own = [each for each in zoo if ":" in each.lock.kind + each.storage.kind]

    assert own
    assert not any(servers_to_reuse(each, by_default=True) for each in own)


def test_a_wrong_value_is_refused_with_a_reason() -> None:
    with pytest.raises(ConfigurationError, match='reuse = "yes": must be true or false'):
        load("redis-redis", ["reuse=yes"])
