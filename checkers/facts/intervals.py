"""Stretches of time: closed intervals of nanoseconds, which may have no end."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
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


class Covered:
    """How long some stretches last together; they are in order, and none overlaps the next."""

    def __init__(self, stretches: Sequence[Interval]) -> None:
        self._stretches = stretches
        self._before = [0, *accumulate(end - start for start, end in stretches[:-1])]  # each of them

    def between(self, start: float, end: float) -> float:
        """How much of a stretch they cover."""
        return self._until(end) - self._until(start)

    def _until(self, moment: float) -> float:
        place = bisect_right(self._stretches, moment, key=itemgetter(0)) - 1
        if place < 0:
            return 0
        start, end = self._stretches[place]
        return self._before[place] + min(moment, end) - start


def links(intervals: Sequence[Interval], gap: float) -> Iterator[int]:
    """The places of those, in order, without which no interval before is joined with one behind them."""
    reached = [-math.inf, *accumulate((end for _, end in intervals), max)]
    starts = [*(start for start, _ in intervals), math.inf]
    return (place for place in range(len(intervals)) if starts[place + 1] - reached[place] > gap)


class Cover:
    """Chooses the fewest of some intervals that cover a stretch; gaps of up to `gap` are passed over."""

    def __init__(self, intervals: Sequence[Interval], gap: float) -> None:
        self._intervals, self._gap = intervals, gap
        order = sorted(range(len(intervals)), key=intervals.__getitem__)
        self._starts = [intervals[place][0] for place in order]
        self._last = list(accumulate(order, self._later))  # of each and those before, the one that ends last

    def fewest(self, start: float, end: float) -> Iterator[int]:
        """Their places: always the one that lasts longest of those that go on without a gap."""
        reached, began = start, bisect_right(self._starts, start)
        if not began or self._intervals[self._last[began - 1]][1] <= start:
            began = bisect_right(self._starts, self._starts[began]) if began < len(self._starts) else began
        while began and reached < end:
            place = self._last[began - 1]
            if self._intervals[place][0] >= end or self._intervals[place][1] <= reached:
                return
            yield place
            reached = self._intervals[place][1]
            began = min(bisect_right(self._starts, reached + self._gap), bisect_left(self._starts, end))

    def _later(self, one: int, other: int) -> int:
        """Which of two ends last; the one that starts first if they end together."""
        return other if self._intervals[other][1] > self._intervals[one][1] else one
