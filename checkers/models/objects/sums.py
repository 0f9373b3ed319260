"""Possible sums of subsets of many numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_MOST_BITS = 1 << 26  # of all tables together: 8 MiB


class _Range(NamedTuple):
    """The lowest and the highest sum of some numbers, and their common divisor."""

    low: int = 0
    high: int = 0
    divisor: int = 0

    def with_number(self, number: int) -> _Range:
        return _Range(self.low + min(number, 0), self.high + max(number, 0), math.gcd(self.divisor, number))

    def may_include(self, total: int) -> bool:
        divides = total % self.divisor == 0 if self.divisor else total == 0
        return divides and self.low <= total <= self.high


class Sums:
    """The sums of any numbers in the groups from a given group on.

    The lowest and the highest sum and the common divisor rule many out. Small sums are
    also stored exactly, each as a bit of a number.
    """

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        ranges = [_Range()]
        for group in reversed(groups):
            within = ranges[-1]
            for number in group:
                within = within.with_number(number)
            ranges.append(within)
        self._ranges = ranges[::-1]
        span = self._ranges[0].high - self._ranges[0].low
        self._tables = _tables(groups)[::-1] if span * len(groups) <= _MOST_BITS else None

    def include(self, total: int, start: int) -> bool:
        """May some of the numbers in the groups from `start` on have this sum? When in doubt, yes."""
        within = self._ranges[start]
        if not within.may_include(total):
            return False
        return self._tables is None or bool(self._tables[start] >> (total - within.low) & 1)


def _tables(groups: Sequence[Sequence[int]]) -> list[int]:
    """Return the sums with each group and later ones, from the last group; bit 0 is the lowest sum."""
    table = 1
    tables = [table]
    for group in reversed(groups):
        for number in group:
            table |= table << abs(number)
        tables.append(table)
    return tables
