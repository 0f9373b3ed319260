"""Complete runs in which a lock service is split, with a holder on the side of the old leader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.challenged import ATTEMPTED, run_until_challenged
from tests.support.command import run_target
from tests.support.selection import nightly

pytestmark = pytest.mark.engine


@pytest.mark.slow
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("lock", ["etcd", *nightly("zookeeper")])
@pytest.mark.parametrize("twin", ["", "-unfenced"])
def test_a_write_of_a_holder_that_was_split_off_is_stale(tmp_path: Path, lock: str, twin: str) -> None:
    target = f"{lock}-postgres-leader-isolated{twin}"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, target, duration, engine="docker"), seconds=20
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    verdict = json.loads(done.stdout)
    refused, accepted = (verdict["coverage"][f"stale_writes_{name}"] for name in ("rejected", "accepted"))
    assert (refused == 0, accepted == 0) == ((False, True) if not twin else (True, False))
    for fault in partitions_of(tmp_path / "runs" / target / "latest"):
        leader = fault["target"].removeprefix("lock:")
        assert f"{leader} leads" in fault["evidence"]
        if lock == "etcd":  # on a busy machine, a partition may end before ZooKeeper's leader resigns
            assert f"{leader} does not serve" in fault["healed_evidence"].partition("; now ")[0]


def partitions_of(folder: Path) -> list[Any]:
    plan = json.loads((folder / "plan.json").read_text())
    return [fault for fault in plan["faults"] if fault["kind"] == "partition"]


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_a_fence_holds_while_five_members_are_divided_in_several_ways(tmp_path: Path) -> None:
    target = "etcd-postgres-member-partitions"
    runs = tmp_path / "runs" / target  # a slow machine may divide them in one way only in each

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, target, duration, engine="docker"),
        seconds=30,
        was_challenged=lambda verdict: ATTEMPTED(verdict) and sizes_of_near_sides(runs) == {1, 2},
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert json.loads(done.stdout)["verdict"] == "valid"
    assert sizes_of_near_sides(runs) == {1, 2}
    assert all(fault["in_force"] < fault["healed"] for fault in partitions_of(runs / "latest"))


def sizes_of_near_sides(runs: Path) -> set[int]:
    """How many members did the partitions of some runs divide from the others?"""
    partitions = [fault for run in runs.glob("2*") for fault in partitions_of(run)]
    return {len(fault["evidence"].partition(" from ")[0].split(", ")) for fault in partitions}
