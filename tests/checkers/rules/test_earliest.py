"""The first low enough number from a place on, against looking through them all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.operations.earliest import Earliest

NUMBERS = st.lists(st.integers(0, 6), max_size=20)


@given(NUMBERS, st.integers(0, 21), st.integers(-1, 7))
def test_the_pass_finds_what_a_full_search_finds(numbers: list[int], start: int, bound: int) -> None:
    found = Earliest(numbers).first(start, bound)

    low = [place for place in range(start, len(numbers)) if numbers[place] <= bound]
    assert found == (low[0] if low else None)
