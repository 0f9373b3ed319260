"""Lost updates in simulated runs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import gather
from checkers.history.reader import parse
from checkers.rules.lost_updates import dropped_in_log, lost_updates
from tests.support.simulation import Simulation

KINDS = [
    {"policy": "strict"},
    {"policy": "inclusive"},
    {"policy": "inclusive", "sessions": True, "outages": True},
]


def in_run(run: Simulation) -> tuple[list[Conflict], list[Conflict]]:
    """What clients saw, and what the storage's own order shows."""
    observed = gather(parse(run.lines()))
    return list(lost_updates(observed)), list(dropped_in_log(gather(observed.history, run.commits())))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_correct_services_lose_updates_only_by_late_writes(kind: dict[str, Any]) -> None:
    counted = 0
    for seed in range(75):
        observed, committed = in_run(Simulation(seed=seed, appends=True, **kind))

        assert all(each.counted for each in (*observed, *committed)), seed
        assert {each.because[0].element for each in observed} <= everything_dropped(seed, kind)
        counted += bool(observed)
    assert counted > 5


def everything_dropped(seed: int, kind: dict[str, object]) -> set[str]:
    """By the storage itself: what one list had and the next had not."""
    log = [value for value, _ in Simulation(seed=seed, appends=True, **kind).storage.log]
    return {element for one, other in itertools.pairwise(log) for element in set(one).difference(other)}


@pytest.mark.slow
def test_nothing_is_lost_with_fence_on_acquire() -> None:
    for seed in range(100):
        run = Simulation(seed=seed, appends=True, policy="inclusive", fence_on_acquire=True)

        assert in_run(run) == ([], []), seed


def test_lists_that_are_read_as_they_were_before_are_found() -> None:
    found = 0
    for seed in range(30):
        observed, _ = in_run(Simulation(seed=seed, appends=True, policy="inclusive", lag=0.2))
        found += any(not each.counted for each in observed)
    assert found > 25
