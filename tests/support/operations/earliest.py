"""The first of a row of numbers, from some place on, that is not above a bound."""

from __future__ import annotations

from collections.abc import Sequence


class Earliest:
    """A tree of minima over a row of numbers: O(n) to build, O(log n) to query.

    The minima of pairs are above the numbers, those of pairs of pairs above
    them, and so on. To find a number, climb until a minimum to the right is low
    enough, and go down to it.
    """

    def __init__(self, numbers: Sequence[float]) -> None:
        self._rows: list[list[float]] = [list(numbers)]
        while len(self._rows[-1]) > 1:
            row = self._rows[-1]
            self._rows.append([min(row[place : place + 2]) for place in range(0, len(row), 2)])

    def first(self, start: int, bound: float) -> int | None:
        """The place of the first number from `start` on that is at most `bound`; None if there is none."""
        place = start
        for height, row in enumerate(self._rows):
            if place >= len(row):
                return None
            if row[place] <= bound:
                return self._below(height, place, bound)
            if place % 2 == 0 and place + 1 < len(row) and row[place + 1] <= bound:
                return self._below(height, place + 1, bound)
            place = place // 2 + 1
        return None

    def _below(self, height: int, place: int, bound: float) -> int:
        """The first low enough number below a minimum that is."""
        for row in reversed(self._rows[:height]):
            place *= 2
            if row[place] > bound:
                place += 1
        return place
