"""Times and tokens as small numbers, so that all resources can be judged in one pass.

Ranks of times are *resource-major*: within a resource, ranks are in the order of time, equal times share a
rank, and all ranks of earlier resources are lower. Each resource has one more rank, its lowest, which means
"before the run". Heights do the same for tokens. So one prefix maximum over the ranks of all resources serves
each of them: a maximum left by an earlier resource is below everything in the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.history.columns import ABSENT, NEVER, Columns, Flags, Ints, indices

UNRANKED = np.iinfo(np.int64).max  # the rank of a moment that never came
_FEW = 16  # queries for which no table is made
_DENSE = 8  # places per query, up to which a table is made faster than the queries are searched for
_BITS = 63  # in a non-negative integer of 64 bits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranks:
    """The ranks of the call and the return of each row."""

    called: Ints
    returned: Ints  # UNRANKED if it never did
    start: Ints  # for each resource, the rank "before the run"
    size: int  # the size of a table with a place for each rank


def rank(columns: Columns) -> Ranks:
    """Rank the calls and returns of all operations."""
    return _rank_lines(columns) if columns.by_line else _rank_times(columns)


def _rank_times(columns: Columns) -> Ranks:
    """Rank the moments of operations whose lines do not show their order."""
    answered = indices(columns.returned != NEVER)
    times = np.concatenate((columns.called, columns.returned[answered]))
    resources = np.concatenate((columns.resource, columns.resource[answered]))
    order = stable_order(times)
    ranks = np.empty(len(times), dtype=np.int64)
    ranks[order], start = _by_resource(times[order], resources[order], len(columns.resources))
    returned = np.full_like(columns.called, UNRANKED)
    returned[answered] = ranks[len(columns) :]
    size = int(ranks.max(initial=0)) + 1
    return Ranks(called=ranks[: len(columns)], returned=returned, start=start, size=size)


def _rank_lines(columns: Columns) -> Ranks:
    """Rank the moments of operations by the lines of their history, which are in the order of time."""
    invoked = columns.invoked_line
    answered = indices(columns.completed_line != ABSENT)
    completed = columns.completed_line[answered]
    size = int(max(invoked.max(initial=0), completed.max(initial=0))) + 1
    times = _scattered(size, invoked, columns.called, completed, columns.learned[answered])
    if len(columns.resources) == 1:
        ranks = _of_lines(times)
        start = np.zeros(1, dtype=np.int64)
    else:
        of_line = _scattered(size, invoked, columns.resource, completed, columns.resource[answered])
        ranks, start = _by_resource(times, of_line, len(columns.resources))
    returned = np.full_like(columns.called, UNRANKED)
    returned[answered] = ranks[completed]
    returned[indices(columns.returned == NEVER)] = UNRANKED
    return Ranks(called=ranks[invoked], returned=returned, start=start, size=int(ranks.max(initial=0)) + 1)


def _of_lines(times: Ints) -> Ints:
    """Return the rank of each line of a history of one resource: the first line of its time."""
    if np.any(times[2:] < 0):  # the nemesis's lines, which belong to no operation
        np.maximum.accumulate(times, out=times)
    ranks = np.arange(len(times))
    again = indices(times[1:] == times[:-1]) + 1
    ranks[again] = np.searchsorted(times, times[again])
    return ranks


def _by_resource(times: Ints, resources: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the rank of each line, and for each resource the rank before its first."""
    lines = indices(resources >= 0)
    lines = lines[stable_order(resources[lines])]
    times, resources = times[lines], resources[lines]
    is_first = np.ones(len(lines), dtype=np.bool_)
    is_first[1:] = resources[1:] != resources[:-1]
    steps = is_first.astype(np.int64)
    steps[1:] |= times[1:] != times[:-1]
    steps += is_first  # leaves room for "before the run"
    of_event = np.cumsum(steps)
    firsts = indices(is_first)
    start = np.zeros(count, dtype=np.int64)
    start[resources[firsts]] = of_event[firsts] - 1
    ranks = np.zeros(len(times) and int(lines.max()) + 1, dtype=np.int64)
    ranks[lines] = of_event
    return ranks, start


def _scattered(size: int, places: Ints, numbers: Ints, more_places: Ints, more: Ints) -> Ints:
    """Return a table with numbers at their places, and -1 elsewhere."""
    table = np.full(size, -1, dtype=np.int64)
    table[places] = numbers
    table[more_places] = more
    return table


def heights(columns: Columns, initial_token: int) -> tuple[Ints, Ints]:
    """Return the height of each row's token (without one, 0), and of each resource's initial token."""
    absent = indices(columns.token == ABSENT)
    tokens = columns.token.copy()
    tokens[absent] = initial_token
    least, most = int(tokens.min(initial=initial_token)), int(tokens.max(initial=initial_token))
    span = most - least + 2
    count = len(columns.resources)
    if span * (count + 1) >= 1 << 62:  # as with ZooKeeper's transaction numbers on many resources
        different, numbers = distinct(np.append(tokens, initial_token))
        tokens, initial_token = numbers[:-1], int(numbers[-1])
        least, span = 0, len(different) + 1
    base = np.arange(count) * span + 1 - least
    tokens += base[columns.resource]
    tokens[absent] = 0
    return tokens, base + initial_token


class Scale:
    """Heights of some tokens, and of any others relative to them, resource by resource."""

    def __init__(self, tokens: Ints, resources: int) -> None:
        present = tokens[tokens != ABSENT]
        self._least, self._most = int(present.min(initial=0)), int(present.max(initial=0))
        self._different: Ints | None = None
        self._span = self._most - self._least + 3
        if self._span * (resources + 1) >= 1 << 62:
            self._different = np.unique(present)
            self._span = len(self._different) + 2

    def heights(self, resource: Ints, tokens: Ints) -> Ints:
        """Return the height of each token, or of the lowest known one above it; 0 where there is no token."""
        if self._different is not None:
            places = np.searchsorted(self._different, tokens)
        else:
            places = np.clip(tokens, self._least, self._most + 1) - self._least
        return np.where(tokens == ABSENT, 0, resource * self._span + 1 + places)

    def above(self, resource: Ints, tokens: Ints) -> Ints:
        """Return the height of the lowest known token above each."""
        if self._different is not None:
            places = np.searchsorted(self._different, tokens, side="right")
        else:
            places = np.clip(tokens, self._least - 1, self._most) - self._least + 1
        return resource * self._span + 1 + places


class Summit:
    """The highest entry before a rank: a `HighWater` for all resources at once.

    Among entries of the same height, the one with the lowest rank counts, then the first.
    """

    def __init__(self, size: int, ranks: Ints, heights: Ints) -> None:
        self._ranks = ranks
        self._heights = heights
        self._highest = np.zeros(size, dtype=np.int64)
        np.maximum.at(self._highest, ranks, heights)
        np.maximum.accumulate(self._highest, out=self._highest)

    def before(self, ranks: Ints) -> Ints:
        """Return the greatest height strictly before each rank; 0 where there is nothing."""
        return self._highest[ranks - 1]

    def until(self, ranks: Ints) -> Ints:
        """Return the greatest height at or before each rank."""
        return self._highest[ranks]

    def exceeds(self, other: Summit) -> Flags:
        """At which ranks is the greatest height until then above the other summit's?"""
        return self._highest > other._highest

    def entries_before(self, ranks: Ints) -> Ints:
        """Return the highest entry strictly before each rank; each rank must have one."""
        if len(ranks) <= _FEW:
            return np.array([self._entry(height) for height in self.before(ranks)], dtype=np.int64)
        return self._entry_at[self._reached[ranks - 1]]

    def _entry(self, height: np.int64) -> int:
        entries = indices(self._heights == height)
        return int(entries[np.argmin(self._ranks[entries])])

    @cached_property
    def _reached(self) -> Ints:
        """For each rank, the rank at which the greatest height until then was first reached."""
        is_new = np.ones(len(self._highest), dtype=np.bool_)
        is_new[1:] = self._highest[1:] > self._highest[:-1]
        return np.maximum.accumulate(np.where(is_new, np.arange(len(is_new)), 0))

    @cached_property
    def _entry_at(self) -> Ints:
        entries = indices(self._heights == self._highest[self._ranks])[::-1]
        first = np.full(len(self._highest), -1, dtype=np.int64)
        first[self._ranks[entries]] = entries  # in reverse, so that the first of several stays
        return first


def stable_order(numbers: Ints) -> Ints:
    """Return the indices that sort numbers stably; numbers in order are not sorted again."""
    if np.all(numbers[1:] >= numbers[:-1]):
        return np.arange(len(numbers))
    bits = len(numbers).bit_length()
    if int(numbers.min()) < 0 or int(numbers.max()).bit_length() + bits >= _BITS:
        return np.argsort(numbers, kind="stable")
    keyed = (numbers << bits) | np.arange(len(numbers))  # sorting plain numbers is several times faster
    keyed.sort()
    return keyed & ((1 << bits) - 1)


def places_in(ordered: Ints, numbers: Ints) -> Ints:
    """Return how many of the ordered numbers, all non-negative, are below each number."""
    size = max(int(ordered.max(initial=0)), int(numbers.max(initial=0))) + 1
    if size > _DENSE * len(numbers):
        return np.searchsorted(ordered, numbers)
    below = np.bincount(ordered + 1, minlength=size)
    np.cumsum(below, out=below)
    return below[numbers]


def distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct numbers, sorted, and the index among them of each number."""
    order = stable_order(numbers)
    ordered = numbers[order]
    is_new = np.ones(len(numbers), dtype=np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    which = np.empty(len(numbers), dtype=np.int64)
    which[order] = np.cumsum(is_new) - 1
    return ordered[is_new], which


def keys(*parts: tuple[Ints, Ints]) -> list[Ints]:
    """Return pairs of (resource, number) as single numbers in the same order, comparable across parts."""
    different, numbers = distinct(np.concatenate([number for _, number in parts]))
    of_all = np.concatenate([resource for resource, _ in parts]) * len(different) + numbers
    return np.split(of_all, np.cumsum([len(number) for _, number in parts])[:-1])


def is_repeated(numbers: Ints) -> Flags:
    """Which numbers also come earlier?"""
    order = stable_order(numbers)
    ordered = numbers[order]
    repeated = np.zeros(len(numbers), dtype=np.bool_)
    repeated[order[1:]] = ordered[1:] == ordered[:-1]
    return repeated
