"""How close a run came: a later step on the way to a stale write is closer, however often."""

from __future__ import annotations

import pytest

from checkers.vocabulary.document import VerdictDocument
from harness.search.closeness import VIOLATED, closeness, described
from tests.support.verdicts import verdict_of

CLOSER_AND_CLOSER = [
    {},
    {"pauses_past_lease": 1},
    {"pauses_past_lease": 9},
    {"pauses_past_lease": 1, "grants_to_others": 1},
    {"late_writes_attempted": 1},
    {"stale_writes_attempted": 1},
    {"stale_writes_attempted": 2, "late_writes_attempted": 2},
]


def verdict(coverage: dict[str, int], word: str = "valid") -> VerdictDocument:
    return verdict_of({"verdict": word, "coverage": coverage})


def test_each_is_closer_than_the_one_before() -> None:
    found = [closeness(verdict(coverage)) for coverage in CLOSER_AND_CLOSER]

    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert max(found) < VIOLATED


def test_a_violation_is_closest() -> None:
    assert closeness(verdict({}, "invalid")) == VIOLATED


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        ({}, "no lease was in danger"),
        ({"pauses_past_lease": 2}, "a pause outlived a lease (×2)"),
        ({"stale_writes_attempted": 1}, "a stale write was attempted (×1)"),
    ],
)
def test_it_is_said_in_words(coverage: dict[str, int], said: str) -> None:
    assert described(closeness(verdict(coverage))) == said
