"""Stretches of time: closed intervals of nanoseconds, which may have no end."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

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


def without(stretches: Iterable[Interval], holes: Iterable[Interval]) -> list[Interval]:
    """What is left of them between the holes; both are in order, and none overlaps the next."""
    left: list[Interval] = []
    holes = list(holes)
    first = 0
    for start, end in stretches:
        while first < len(holes) and holes[first][1] < start:
            first += 1
        free = start
        for hole in itertools.islice(holes, first, None):
            if hole[0] > end:
                break
            if free < hole[0]:
                left.append((free, hole[0]))
            free = max(free, hole[1])
        if free < end:
            left.append((free, end))
    return left
