"""Stretches of time: closed intervals in nanoseconds, possibly without an end."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter

Interval = tuple[float, float]


def joined(intervals: Iterable[Interval], gap: float = 0) -> list[Interval]:
    """Return the stretches that these intervals cover together, in order, ignoring gaps of up to `gap`."""
    stretches: list[Interval] = []
    for start, end in sorted(intervals):
        if stretches and start - stretches[-1][1] <= gap:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches


def without(stretches: Iterable[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """Return the parts of stretches between the holes; both are in order, and none overlaps the next."""
    left: list[Interval] = []
    for start, end in stretches:
        first = bisect_left(holes, start, key=itemgetter(1))
        last = bisect_right(holes, end, key=itemgetter(0))
        bounds = [(start, start), *holes[first:last], (end, end)]
        left += [(free, until) for (_, free), (until, _) in pairwise(bounds) if free < until]
    return left


class Covered:
    """The total length of some stretches, which are in order and do not overlap."""

    def __init__(self, stretches: Sequence[Interval]) -> None:
        self._stretches = stretches
        self._before = [0, *accumulate(end - start for start, end in stretches[:-1])]  # each one

    def between(self, start: float, end: float) -> float:
        """Return how much of the time from `start` to `end` they cover."""
        return self._until(end) - self._until(start)

    def _until(self, moment: float) -> float:
        place = bisect_right(self._stretches, moment, key=itemgetter(0)) - 1
        if place < 0:
            return 0
        start, end = self._stretches[place]
        return self._before[place] + min(moment, end) - start


def links(intervals: Sequence[Interval], gap: float) -> Iterator[int]:
    """Yield the places of the intervals, in order, that alone join those before them to those after."""
    reached = [-math.inf, *accumulate((end for _, end in intervals), max)]
    starts = [*(start for start, _ in intervals), math.inf]
    return (place for place in range(len(intervals)) if starts[place + 1] - reached[place] > gap)


class Cover:
    """Chooses the fewest intervals that cover a stretch, ignoring gaps of up to `gap`."""

    def __init__(self, intervals: Sequence[Interval], gap: float) -> None:
        self._intervals, self._gap = intervals, gap
        order = sorted(range(len(intervals)), key=intervals.__getitem__)
        self._starts = [intervals[place][0] for place in order]
        self._last = list(accumulate(order, self._later))  # the one that ends last, up to each place

    def fewest(self, start: float, end: float) -> Iterator[int]:
        """Yield their places: at each step, the interval that continues without a gap and ends last.

        The stretch is longer than a gap, but may start or end in one.
        """
        reached, began = start, bisect_right(self._starts, start)
        if self._reach(began) <= start:
            began = bisect_right(self._starts, self._starts[began])
        while reached < min(end, self._reach(began)):
            yield self._last[began - 1]
            reached = self._reach(began)
            began = min(bisect_right(self._starts, reached + self._gap), bisect_left(self._starts, end))

    def _reach(self, count: int) -> float:
        """Return until when the first ones last, if this many have begun."""
        return self._intervals[self._last[count - 1]][1]

    def _later(self, one: int, other: int) -> int:
        """Return the one of two that ends last; if they end together, the one that starts first."""
        return other if self._intervals[other][1] > self._intervals[one][1] else one
