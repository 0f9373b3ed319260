"""Moments in words: short, and different wherever the moments are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.explain.clock import Clock

RUN = Clock(started=1_000, ended=1_000 + 20_000_000_000)


def test_moments_that_would_read_the_same_get_more_digits() -> None:
    clock = RUN.telling_apart([2_173_105_000, 2_173_391_000, 3_000_000_000])

    assert clock.moment(2_173_105_000) == "2.173104 s"
    assert clock.moment(2_173_391_000) == "2.173390 s"
    assert clock.moment(3_000_000_000) == "3.000 s"
    assert clock.duration(2_173_105_000) == "2.173 s"


def test_one_moment_that_is_named_twice_stays_short() -> None:
    clock = RUN.telling_apart([2_173_105_000, 2_173_105_000.0])

    assert clock == RUN


@pytest.mark.parametrize("lasted", [1, 10**3, 10**6, 10**10])
@given(moments=st.sets(st.integers(0, 10**10), max_size=6), near=st.sets(st.integers(0, 2_000), max_size=6))
def test_moments_that_differ_never_read_the_same(lasted: int, moments: set[int], near: set[int]) -> None:
    clock = Clock(started=0, ended=lasted).telling_apart(moments | near)

    assert len({clock.moment(each) for each in moments | near}) == len(moments | near)
