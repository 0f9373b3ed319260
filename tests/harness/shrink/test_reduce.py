"""Delta debugging: what is left holds, and nothing more can be left out."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from harness.shrink.reduce import reduced

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
