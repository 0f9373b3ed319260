"""When a search has dried up: literal runs, and the estimate of what is left."""

from __future__ import annotations

import pytest
from msgspec import structs

from checkers.document import HazardsDocument, VerdictDocument
from harness.search.behaviors import ENOUGH_RUNS, Behaviors


def verdict(**coverage: int) -> VerdictDocument:
    return VerdictDocument(
        verdict="valid",
        expected="valid",
        as_expected=True,
        reasons=[],
        anomalies={},
        findings=[],
        coverage=coverage,
        checkers=[],
    )


def test_a_count_of_another_magnitude_is_new_behavior() -> None:
    behaviors = Behaviors()

    new = [behaviors.add(verdict(pauses=pauses)) for pauses in (4, 5, 8, 0)]

    assert new == [1, 0, 1, 0]


def test_a_hazard_is_a_behavior_however_often_it_was_hit() -> None:
    behaviors = Behaviors()
    hits = [{"granted/expired/holder": 1}, {"granted/expired/holder": 9}, {"renewing/expired/holder": 1}, {}]

    new = [
        behaviors.add(structs.replace(verdict(), hazards=HazardsDocument(hit=hit) if hit else None))
        for hit in hits
    ]

    assert new == [1, 0, 1, 0]


def test_nothing_is_estimated_from_few_runs() -> None:
    behaviors = Behaviors()
    for _ in range(ENOUGH_RUNS - 1):
        behaviors.add(verdict(pauses=1))

    assert behaviors.left is None
    assert not behaviors.dried_up


def test_equal_runs_dry_up() -> None:
    behaviors = Behaviors()
    for _ in range(ENOUGH_RUNS):
        behaviors.add(verdict(pauses=1))

    assert behaviors.left == 0
    assert behaviors.dried_up


@pytest.mark.parametrize(
    ("once", "twice", "left"),
    [(4, 0, 0.9 * 6), (4, 2, 0.9 * 4), (1, 0, 0), (2, 1, 0.9 * 2), (0, 3, 0)],
)
def test_the_estimate_is_that_of_chao(once: int, twice: int, left: float) -> None:
    """Of ten runs; some behaviors are seen in one of them, some in two."""
    runs: list[list[str]] = [[] for _ in range(10)]
    for number in range(once):
        runs[number].append(f"once_{number}")
    for number in range(twice):
        for run in runs[number : number + 2]:
            run.append(f"twice_{number}")
    behaviors = Behaviors()

    for names in runs:
        behaviors.add(verdict(**dict.fromkeys(names, 1)))

    assert behaviors.left == pytest.approx(left)
