"""High-water marks: the highest entry before a moment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class HighWater(Generic[T]):
    """Finds the highest entry before a time, among entries of (time, height, item).

    A prefix maximum: O(n log n) to build, O(log n) to query. Entries without an
    end have time infinity and come before nothing.
    """

    def __init__(self, entries: Iterable[tuple[float, float, T]]) -> None:
        ordered = sorted(entries, key=lambda entry: entry[0])
        self._times = [time for time, _, _ in ordered]
        self._highest: list[tuple[float, T]] = []
        for _, height, item in ordered:
            if self._highest and self._highest[-1][0] >= height:
                self._highest.append(self._highest[-1])
            else:
                self._highest.append((height, item))

    def before(self, time: float) -> tuple[float, T] | None:
        """Return the highest entry strictly before `time`, as (height, item)."""
        count = bisect_left(self._times, time)
        return self._highest[count - 1] if count else None
