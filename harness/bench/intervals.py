"""Intervals that hold the true value with 95 % certainty, and what they say of a bound.

A mean: Student's interval of the means of equal blocks of time, because neighbouring operations are not
independent. A quantile: the order statistics between which it lies, whatever the distribution (David and
Nagaraja, Order Statistics, 2003, chapter 7.1).
"""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_NORMAL = 1.959964  # the 97.5th percentile of the normal distribution
TOO_DIFFERENT = 0.15
"""Repetitions whose medians differ by more than this share of the middle one say nothing."""


class Decision(enum.Enum):
    """Was a bound met?"""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and the bounds between which the true one lies."""

    low: float
    value: float
    high: float

    def widened(self, share: float) -> Interval:
        """Return the same with each bound farther out by a share of it."""
        if not share:
            return self
        if math.isinf(share):
            return Interval(-math.inf, self.value, math.inf)
        low, high = self.low, self.high
        if math.isfinite(low):  # what is never reached stays so
            low -= share * abs(low)
        return Interval(low, self.value, high + share * abs(high))

    def at_most(self, bound: float) -> Decision:
        """Is the true value at most the bound?"""
        if self.high <= bound:
            return Decision.MET
        return Decision.MISSED if self.low > bound else Decision.UNDECIDED

    def at_least(self, bound: float) -> Decision:
        """Is the true value at least the bound?"""
        if self.low >= bound:
            return Decision.MET
        return Decision.MISSED if self.high < bound else Decision.UNDECIDED


def of_mean(blocks: Sequence[float]) -> Interval:
    """Return the interval of the mean of blocks; without bounds if there are fewer than two."""
    mean = statistics.fmean(blocks) if blocks else 0.0
    if len(blocks) < 2:  # noqa: PLR2004 - no spread
        return Interval(-math.inf, mean, math.inf)
    half = _student(len(blocks) - 1) * statistics.stdev(blocks) / math.sqrt(len(blocks))
    return Interval(mean - half, mean, mean + half)


def in_blocks(values: Sequence[float], blocks: int) -> list[float]:
    """Return the means of consecutive blocks of equal size; the rest at the end is left out."""
    size = len(values) // blocks
    if not size:
        return list(values)
    return [statistics.fmean(values[first : first + size]) for first in range(0, size * blocks, size)]


def ranks_of_quantile(q: float, count: int) -> tuple[int, int]:
    """Return the ranks, from 1, between which the quantile lies; one beyond the count does not exist."""
    middle, half = count * q, _NORMAL * math.sqrt(count * q * (1 - q))
    return max(1, math.floor(middle - half)), math.ceil(middle + half) + 1


def spread(values: Sequence[float]) -> float:
    """Return the difference of the highest and the lowest, as a share of the middle one."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def _student(freedom: int) -> float:
    """Return the 97.5th percentile of Student's distribution, to within 0.2 %.

    Hill, Algorithm 396 (1970), as Cornish and Fisher's expansion; exact below.
    """
    exact = {1: 12.7062, 2: 4.30265}
    if freedom in exact:
        return exact[freedom]
    z, n = _NORMAL, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
