"""The smallest target so far, while targets are run that are smaller still; here nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.shrink.smaller_target import SmallerTarget
from harness.target import Target

TARGET = """
name = "t"
expect = ["early-grant", "stale-write"]

[lock]
kind = "redis"

[storage]
kind = "postgres"
fencing = "none"

[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"

[[faults]]
kind = "kill"
target = "lock"
every = "8s"
lasts = "1s"
"""


@pytest.fixture
def smaller(tmp_path: Path) -> SmallerTarget:
    finding = {"anomaly": "stale-write", "rule": "after-newer"}
    options: Any = {"engine": None, "runs": tmp_path, "deadline": float("inf"), "notify": lambda _line: None}
    return SmallerTarget(text=TARGET, name="t.toml", finding=finding, seed=1, **options)


def kinds(target: Target) -> list[str]:
    return [fault.kind for fault in target.faults]


def test_a_smaller_target_need_show_only_one_of_the_expected_anomalies(smaller: SmallerTarget) -> None:
    assert (smaller.target.expected, smaller.target.may) == (("stale-write",), ("early-grant",))


def test_an_interrupted_search_keeps_the_smallest_target_so_far(
    smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shows(_: SmallerTarget, target: Target, _seed: int) -> bool:
        if not target.faults or target.workload.clients < smaller.target.workload.clients:
            raise KeyboardInterrupt
        return "pause" in kinds(target)

    monkeypatch.setattr(SmallerTarget, "_shows", shows)

    with pytest.raises(KeyboardInterrupt):
        smaller.shrink()

    assert kinds(smaller.target) == ["pause"]
