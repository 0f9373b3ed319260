"""What a run shares with others: the plan that it replays, and the servers that it may reuse."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.cells import servers_to_reuse
from harness.core.errors import ConfigurationError
from harness.run.replay import read_plan
from harness.spec import Target, load
from harness.spec.hazards import plan_of
from harness.spec.reading import in_folder, shipped_folder
from tests.support.recorded_runs import Unpack


@pytest.fixture
def run(recorded_run: Unpack) -> Path:
    """A run in which the storage was killed at planned moments."""
    return recorded_run("asynchronous-commit")


def change(run: Path, moments: list[int]) -> dict[str, Any]:
    """Write other moments into its plan."""
    file = run / "plan.json"
    document: dict[str, Any] = json.loads(file.read_text())
    document["planned"][1]["moments"] = moments
    file.write_text(json.dumps(document))
    return document


def test_seed_and_moments_are_those_of_the_plan(run: Path) -> None:
    document = json.loads((run / "plan.json").read_text())

    replay = read_plan(run / "plan.json", load(run / "target.toml"))

    assert replay.seed == document["seed"]
    assert [list(each.moments) for each in replay.planned] == [
        each["moments"] for each in document["planned"]
    ]


def test_moments_may_be_changed(run: Path) -> None:
    change(run, [5, 70])

    assert read_plan(run / "plan.json", load(run / "target.toml")).planned[1].moments == (5, 70)


@pytest.mark.parametrize("moment", [-1, 86_400_000_000_000])
def test_a_moment_outside_of_the_run_is_refused(run: Path, moment: int) -> None:
    change(run, [moment])

    with pytest.raises(ConfigurationError, match="it has moments before its start or after its end"):
        read_plan(run / "plan.json", load(run / "target.toml"))


def test_a_plan_keeps_the_order_of_its_hazards(tmp_path: Path) -> None:
    target = load("etcd-postgres-hazards")
    (planned,) = plan_of(target, target.faults, 7)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"seed": 8, "planned": [asdict(planned)]}))

    assert read_plan(file, target).planned == (planned,)


def test_a_plan_that_aims_at_other_hazards_is_refused(tmp_path: Path) -> None:
    target = load("etcd-postgres-hazards")
    file = tmp_path / "plan.json"
    planned = plan_of(target, target.faults, 7)
    file.write_text(json.dumps({"seed": 7, "planned": [asdict(each) for each in planned]}))

    with pytest.raises(ConfigurationError, match="it has pause holder at 24 hazards, but the target has"):
        read_plan(file, load("etcd-postgres"))


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
