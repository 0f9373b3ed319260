"""Stretches of time: the fewest that cover one, the links between them, and how long they last."""

from __future__ import annotations

import math
import random
from itertools import islice

import pytest

from checkers.facts.intervals import Cover, Covered, Interval, joined, links, without
from tests.support.selection import Cases, seeds

GAP = 1


def some_intervals(rng: random.Random) -> list[Interval]:
    starts = [rng.randint(0, 30) for _ in range(rng.randint(1, 12))]
    return [(start, start + rng.randint(1, 9)) for start in starts]


@pytest.mark.parametrize("seed", seeds(2))
def test_a_cover_takes_intervals_of_which_none_is_to_spare(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    for _ in range(cases(2_000)):
        intervals = some_intervals(rng)
        for start, end in joined(intervals, GAP):
            chosen = [intervals[place] for place in Cover(intervals, GAP).fewest(start, end)]

            assert joined(chosen, GAP) == [(start, end)], intervals
            for place in range(len(chosen)):
                assert joined(chosen[:place] + chosen[place + 1 :], GAP) != [(start, end)], intervals


@pytest.mark.parametrize(
    ("start", "end", "places"),
    [
        (0, 10, [0, 4]),  # of the two that end at 10, the one that starts first
        (0, 5, [0]),
        (0, 12, [0, 4]),  # it ends in a gap
        (10, 20, [2]),  # what ended as it starts is no part of it
        (11, 15, [2]),  # it starts in a gap
    ],
)
def test_a_cover_of_a_part_takes_nothing_before_or_after_it(start: int, end: int, places: list[int]) -> None:
    cover = Cover([(0, 5), (4, 10), (12, 20), (19, 29), (3, 10)], gap=2)

    assert [*islice(cover.fewest(start, end), 9)] == places


@pytest.mark.parametrize("seed", seeds(2))
def test_without_a_link_the_intervals_fall_in_two(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    for _ in range(cases(2_000)):
        intervals = sorted(some_intervals(rng))
        for place in links(intervals, GAP):
            before, behind = intervals[:place], intervals[place + 1 :]

            assert joined(before + behind, GAP) == joined(before, GAP) + joined(behind, GAP)


def test_holes_that_share_an_end_with_a_stretch_leave_nothing_there() -> None:
    assert without([(0, 9), (9, 12)], [(0, 3), (7, 9), (9, 12)]) == [(3, 7)]


@pytest.mark.parametrize("seed", seeds(2))
def test_what_stretches_cover_is_what_they_do_not_leave(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    for _ in range(cases(2_000)):
        stretches = joined(some_intervals(rng))
        stretches = [*stretches, (99, math.inf)] if rng.random() < 0.2 else stretches
        start, end = sorted(rng.sample(range(120), 2))

        left = sum(last - first for first, last in without([(start, end)], stretches))

        assert Covered(stretches).between(start, end) == end - start - left
