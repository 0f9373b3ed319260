"""Queries about ranges of an array that do not scan each range.

Scanning a range for each finding takes quadratic time where there are many findings.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from checkers.history.columns import Ints, Numbers, indices

NOWHERE = -1


def first_at_most(numbers: Ints, starts: Ints, limits: Ints) -> Ints:
    """Return, for each start and limit, the first place from the start on with a number at most the limit.

    If there is no such place, it is `len(numbers)`. O((n + queries) log n): the search climbs a
    tree of minima until a part has a number that is low enough, and then descends.
    """
    lowest = _tree(numbers)
    node, height = starts.copy(), np.zeros(len(starts), dtype=np.int64)
    left = np.arange(len(starts))
    found = np.full(len(starts), len(numbers), dtype=np.int64)
    for level, parts in enumerate(lowest):
        left = left[node[left] < len(parts)]
        is_there = parts[node[left]] <= limits[left]
        is_last = len(parts) == 1
        stop = is_there & ((node[left] % 2 == 1) | is_last)
        height[left[stop]] = level
        found[left[stop]] = NOWHERE
        left = left[~stop]
        if is_last:
            break
        node[left] = (node[left] + node[left] % 2) // 2
    down = indices(found == NOWHERE)
    for level in range(len(lowest) - 1, 0, -1):
        own = down[height[down] == level]
        below = 2 * node[own]
        node[own] = below + (lowest[level - 1][below] > limits[own])
        height[own] = level - 1
    found[down] = node[down]
    return found


def highest_places(numbers: Ints, firsts: Ints, lasts: Ints) -> Ints:
    """Return, for each range from a first place to before a last one, the place of its highest number.

    Numbers must be distinct, and ranges must not be empty. O(n log n) time, and O(n) memory: the
    maxima of all ranges of one length are computed from the maxima of ranges of half that length.
    """
    length = lasts - firsts
    power = np.frexp(length)[1] - 1
    found = np.empty(len(firsts), dtype=np.int64)
    best = np.arange(len(numbers))
    for level in range(int(power.max(initial=-1)) + 1):
        if level:
            half = 1 << (level - 1)
            best = _higher(numbers, best[:-half], best[half:])
        own = indices(power == level)
        found[own] = _higher(numbers, best[firsts[own]], best[lasts[own] - (1 << level)])
    return found


def _higher(numbers: Ints, one: Ints, other: Ints) -> Ints:
    return np.where(numbers[one] >= numbers[other], one, other)


def _tree(numbers: Ints) -> list[Ints]:
    """Return the numbers, then the lower of each two, and so on up to the lowest."""
    levels = [numbers]
    while len(levels[-1]) > 1:
        below = levels[-1]
        if len(below) % 2:
            below = np.append(below, np.iinfo(np.int64).max)
            levels[-1] = below
        levels.append(np.minimum(below[::2], below[1::2]))
    return levels


class Above:
    """Finds places at which several columns are all above their limits.

    It descends trees of maxima, and skips each part in which some column is nowhere above its limit.
    """

    def __init__(self, *columns: Ints) -> None:
        self._size = 1 << max(len(columns[0]) - 1, 0).bit_length()
        self._trees = [self._made(column) for column in columns]

    def first(self, limits: Sequence[float], start: int = 0) -> int | None:
        """Return the first place from `start` on at which each column is above its limit, if there is one."""
        parts = self._parts_from(start)
        while parts:
            part = parts.pop()
            if all(tree[part] > limit for tree, limit in zip(self._trees, limits, strict=True)):
                if part >= self._size:
                    return part - self._size
                parts += (2 * part + 1, 2 * part)
        return None

    def _parts_from(self, start: int) -> list[int]:
        """Return the parts that cover everything from a place on, the last part first."""
        if start >= self._size:
            return []
        part = start + self._size
        parts = [part]
        while part > 1:
            if part % 2 == 0:
                parts.append(part + 1)
            part //= 2
        return parts[::-1]

    def _made(self, column: Ints) -> list[int]:
        low = np.iinfo(np.int64).min
        level = np.full(self._size, low, dtype=np.int64)
        level[: len(column)] = column
        levels = [level]
        while len(levels[-1]) > 1:
            levels.append(np.maximum(levels[-1][::2], levels[-1][1::2]))
        return [low, *np.concatenate(levels[::-1]).tolist()]


class AboveOfOthers:
    """Finds places of another owner at which several columns are all above their limits."""

    def __init__(self, owners: Sequence[Hashable], *columns: Ints) -> None:
        self._numbers = Numbers()
        numbers = np.array([self._numbers[owner] for owner in owners], dtype=np.int64)
        self._sides = [(side, Above(side * numbers, *columns)) for side in (1, -1)]

    def first(self, owner: Hashable, limits: Sequence[float]) -> int | None:
        """Return the first place of an owner with a higher or a lower number, if there is one."""
        own = self._numbers[owner]
        found = (above.first((side * own, *limits)) for side, above in self._sides)
        return min((place for place in found if place is not None), default=None)
