"""Replay of a plan: its seed and moments, for a target with the same faults."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.run.replay import read_plan
from harness.spec import load
from harness.spec.hazards import plan_of
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
