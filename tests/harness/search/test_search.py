"""The search on real servers, and the plans that it tries."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.exit_codes import ExitCode
from harness.nemesis.plan import PlannedFault
from harness.search.search import _moved
from tests.support.command import fencepost, refused

SECOND = 1_000_000_000
MOMENTS = st.lists(st.integers(0, 20 * SECOND - 1), max_size=5).map(sorted)


@given(MOMENTS, st.integers())
def test_a_changed_plan_stays_within_the_run(moments: list[int], seed: int) -> None:
    fault = PlannedFault(kind="kill", target="storage", at=None, moments=tuple(moments))

    moved = _moved(fault, 20 * SECOND, random.Random(seed))

    assert (moved.kind, moved.target, moved.at) == ("kill", "storage", None)
    assert len(moved.moments) == len(moments)
    assert list(moved.moments) == sorted(moved.moments)
    assert all(0 <= moment < 20 * SECOND for moment in moved.moments)


def test_a_search_takes_one_target(tmp_path: Path) -> None:
    said = refused(tmp_path, "run", "--until-violation", "etcd-postgres", "etcd-postgres-unfenced")

    assert said.returncode == ExitCode.CONFIGURATION
    assert "--until-violation searches with one target at a time" in said.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_a_search_ends_with_the_run_that_violates(tmp_path: Path) -> None:
    found = fencepost(
        tmp_path,
        *("run", "--engine", "local", "--until-violation", "--max-time", "5m", "--format", "json"),
        *("--set", "workload.duration=6s", "etcd-postgres-unfenced"),
    )

    verdicts = [json.loads(line)["verdict"] for line in found.stdout.splitlines()]
    assert found.returncode == ExitCode.AS_EXPECTED, found.stderr
    assert verdicts[-1] == "invalid"
    assert "invalid" not in verdicts[:-1]
    assert f"run {len(verdicts)}, " in found.stderr
    assert "plan.json" in found.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_a_search_ends_when_the_time_is_over(tmp_path: Path) -> None:
    found = fencepost(
        tmp_path,
        *("run", "--engine", "local", "--until-violation", "--max-time", "1s", "--seed", "3"),
        *("--set", "workload.duration=6s", "etcd-postgres"),
    )

    assert found.returncode == ExitCode.AS_EXPECTED, found.stderr
    assert "run 1, " in found.stdout
    assert "seed 3, its own plan: a stale write was attempted" in found.stdout
    assert "no violation in 1 run: the time was up\n" in found.stdout
