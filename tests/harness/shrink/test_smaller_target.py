"""Smaller targets: what is left still fails, nothing more can go, and the smallest so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import (
    ConfigurationError,
    FaultNotInstalledError,
    FencepostError,
    InfrastructureError,
)
from harness.shrink import smaller_target
from harness.shrink.reduce import reduced
from harness.shrink.smaller_target import SmallerTarget
from harness.spec import Target
from tests.support.target_files import SUPERSEDED, target_text

TARGET = target_text(
    SUPERSEDED,
    '[[faults]]\nkind = "kill"\ntarget = "lock"\nevery = "8s"\nlasts = "1s"',
    lock='kind = "redis"',
    storage='kind = "postgres"\nfencing = "none"',
).replace('"valid"', '["early-grant", "stale-write"]')


@pytest.fixture
def smaller(tmp_path: Path) -> SmallerTarget:
    finding = {"anomaly": "stale-write", "rule": "after-newer"}
    options: Any = {"engine": None, "runs": tmp_path, "deadline": float("inf"), "notify": lambda _line: None}
    return SmallerTarget(text=TARGET, name="t.toml", finding=finding, seed=1, **options)


def kinds(target: Target) -> list[str]:
    return [fault.kind for fault in target.faults]


def test_a_smaller_target_need_show_only_one_of_the_expected_anomalies(smaller: SmallerTarget) -> None:
    assert (smaller.target.expected, smaller.target.may) == (("stale-write",), ("early-grant",))


def test_an_interrupted_search_keeps_the_smallest(
    smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shows(_: SmallerTarget, target: Target, _seed: int) -> tuple[bool]:
        if not target.faults or target.workload.clients < smaller.target.workload.clients:
            raise KeyboardInterrupt
        return ("pause" in kinds(target),)

    monkeypatch.setattr(SmallerTarget, "_shows", shows)

    with pytest.raises(KeyboardInterrupt):
        smaller.shrink()

    assert kinds(smaller.target) == ["pause"]


def runs(monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> None:
    """Let the runs end like this, one after another."""
    following = iter(outcomes)

    def to_verdict(*_: Any) -> Any:
        outcome = next(following)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(smaller_target, "to_verdict", to_verdict)


def judged(*findings: Any) -> Any:
    return SimpleNamespace(document=SimpleNamespace(findings=findings), folder=Path("run"))


STALE = SimpleNamespace(anomaly="stale-write", rule="after-newer")
UNOBSERVED = FaultNotInstalledError("pause", "client 1", "status is running")


def test_an_unobserved_fault_is_not_counted(smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, judged(STALE), UNOBSERVED, judged())

    assert smaller.measure(3) == (1, 2)


def test_nothing_is_said_without_a_judged_run(
    smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    smaller.notify = said.append
    runs(monkeypatch, UNOBSERVED, UNOBSERVED, *[judged()] * 40)

    smaller.shrink()

    first = next(line for line in said if not line.startswith("a run failed"))
    assert first.endswith("not known: no run was judged")
    assert all(line.endswith("not enough, in 2 runs") for line in said[3:])


@pytest.mark.parametrize("error", [InfrastructureError("no module"), ConfigurationError("no class")])
def test_a_run_that_cannot_be_made_ends_the_shrinking_and_the_measurement(
    smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch, error: FencepostError
) -> None:
    runs(monkeypatch, error, judged(STALE), error)

    with pytest.raises(type(error)):
        smaller.shrink()
    with pytest.raises(type(error)):
        smaller.measure(2)


NEEDED = st.lists(st.frozensets(st.integers(0, 19), max_size=4), min_size=1, max_size=3)


@given(NEEDED)
def test_what_is_left_holds_and_no_part_of_it_can_be_left_out(needed: list[frozenset[int]]) -> None:
    """It holds of every selection that contains one of these sets."""

    def holds(parts: Sequence[int]) -> bool:
        return any(each <= set(parts) for each in needed)

    left = reduced(range(20), holds)

    assert holds(left)
    assert not any(holds([part for part in left if part != each]) for each in left)


@given(NEEDED)
def test_no_selection_is_tried_twice(needed: list[frozenset[int]]) -> None:
    tried: list[tuple[int, ...]] = []

    def holds(parts: Sequence[int]) -> bool:
        tried.append(tuple(parts))
        return any(each <= set(parts) for each in needed)

    reduced(range(20), holds)

    assert len(tried) == len(set(tried))


def test_everything_is_left_out_if_nothing_is_needed() -> None:
    assert list(reduced("abc", lambda _: True)) == []


def test_the_order_is_kept() -> None:
    assert list(reduced("abcdef", lambda parts: "b" in parts and "e" in parts)) == ["b", "e"]
