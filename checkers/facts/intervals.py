"""Stretches of time: closed intervals of nanoseconds, which may have no end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

Interval = tuple[float, float]


def joined(intervals: Iterable[Interval], gap: float = 0) -> list[Interval]:
    """The stretches that they cover together, in order; gaps of up to `gap` are passed over."""
    stretches: list[Interval] = []
    for start, end in sorted(intervals):
        if stretches and start - stretches[-1][1] <= gap:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches


def without(stretches: Iterable[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """What is left of them between the holes; both are in order, and none overlaps the next."""
    left: list[Interval] = []
    for start, end in stretches:
        first = bisect_left(holes, start, key=itemgetter(1))
        last = bisect_right(holes, end, key=itemgetter(0))
        free = start
        for hole in holes[first:last]:
            if free < hole[0]:
                left.append((free, hole[0]))
            free = max(free, hole[1])
        if free < end:
            left.append((free, end))
    return left
