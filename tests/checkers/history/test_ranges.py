"""Questions about stretches of an array or of time are answered as by looking through each."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from checkers.history.columns import Ints
from checkers.history.faults import Fault, Faults
from checkers.history.ranges import Above, first_at_most, highest_places
from checkers.vocabulary.fault_kinds import KINDS
from tests.support.selection import Cases


def column(rng: random.Random, count: int, below: int = 8) -> Ints:
    return np.array([rng.randrange(below) for _ in range(count)], dtype=np.int64)


def test_the_first_low_number_from_a_place_on(cases: Cases) -> None:
    rng = random.Random(1)
    for _ in range(cases(500)):
        numbers = column(rng, rng.randrange(20))
        starts, limits = column(rng, 9, len(numbers) + 1), column(rng, 9) - 1

        found = first_at_most(numbers, starts, limits)

        assert found.tolist() == [
            next((place for place in range(start, len(numbers)) if numbers[place] <= limit), len(numbers))
            for start, limit in zip(starts.tolist(), limits.tolist(), strict=True)
        ]


def test_the_place_of_the_highest_number_of_a_stretch(cases: Cases) -> None:
    rng = random.Random(2)
    for _ in range(cases(500)):
        numbers = np.array(rng.sample(range(100), rng.randrange(1, 20)), dtype=np.int64)
        firsts = column(rng, 9, len(numbers))
        lasts = np.array([rng.randrange(first + 1, len(numbers) + 1) for first in firsts], dtype=np.int64)

        found = highest_places(numbers, firsts, lasts)

        assert found.tolist() == [
            first + int(np.argmax(numbers[first:last])) for first, last in zip(firsts, lasts, strict=True)
        ]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_first_place_at_which_all_columns_are_above_their_limits(columns: int, cases: Cases) -> None:
    rng = random.Random(columns)
    for _ in range(cases(500)):
        count = rng.randrange(1, 20)
        own = [column(rng, count) for _ in range(columns)]
        limits, start = tuple(column(rng, columns).tolist()), rng.randrange(count + 1)

        found = Above(*own).first(limits, start)

        assert found == next(
            (
                place
                for place in range(start, count)
                if all(each[place] > limit for each, limit in zip(own, limits, strict=True))
            ),
            None,
        )


def test_an_empty_column_is_nowhere_above() -> None:
    assert Above(np.zeros(0, dtype=np.int64)).first((0,)) is None


def fault(began: int, healed: float) -> Fault:
    return Fault(
        kind="pause",
        target="client:1",
        began=began,
        healed=healed,
        owner=None,
        resource=None,
        lines=(2, 3),
        words=KINDS["pause"],
    )


def test_the_faults_of_a_stretch_are_those_that_overlap_it(cases: Cases) -> None:
    rng = random.Random(1)
    for _ in range(cases(500)):
        begins = sorted(rng.randrange(20) for _ in range(rng.randrange(8)))
        some = [fault(began, began + rng.choice([0, 1, 5, 30, math.inf])) for began in begins]
        start = rng.randrange(25)
        end = start + rng.randrange(8)
        overlapping = [place for place, each in enumerate(some) if each.overlaps(start, end)]

        faults = Faults(some)

        assert list(faults.places_between(start, end)) == overlapping
        assert faults.first_between(start, end) == (some[overlapping[0]] if overlapping else None)
