"""Chains of items that each came after one other: which items lead to which?

A chain may run into a cycle, whose members all lead to each other. Each cycle is treated as one
item, so the rest is a forest, and an item leads to another iff the other is above it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ancestry(Generic[T]):
    """The ancestors of some items, indexed so that each question takes constant time."""

    def __init__(
        self, starts: Iterable[T], *, before: Callable[[T], T | None], name: Callable[[T], Hashable]
    ) -> None:
        self._name = name
        self._circle: dict[Hashable, Hashable] = {}  # the item that represents each one's cycle
        below: dict[Hashable, list[Hashable]] = defaultdict(list)
        tops: list[Hashable] = []
        for start in starts:
            way: dict[Hashable, None] = {}
            thing: T | None = start
            while thing is not None and (own := name(thing)) not in self._circle and own not in way:
                way[own] = None
                thing = before(thing)
            names = list(way)
            above: Hashable | None = None
            if thing is not None and name(thing) in way:  # a new cycle
                circle = names[names.index(name(thing)) :]
                self._circle |= dict.fromkeys(circle, circle[0])
                names = names[: len(names) - len(circle)]
                above = circle[0]
                tops.append(above)
            elif thing is not None:
                above = self._circle[name(thing)]
            for own in reversed(names):
                self._circle[own] = own
                (tops if above is None else below[above]).append(own)
                above = own
        self._spans = _spans(tops, below)

    def leads_to(self, thing: T | None, other: T) -> bool:
        """Is the other item the first one itself, or one of its ancestors?"""
        found = None if thing is None else self._circle.get(self._name(thing))
        above = self._circle.get(self._name(other))
        if found is None or above is None:
            return False
        first, last = self._spans[above]
        return first <= self._spans[found][0] < last


def _spans(tops: list[Hashable], below: dict[Hashable, list[Hashable]]) -> dict[Hashable, tuple[int, int]]:
    """Number all items so that the items below each one have the numbers of one span."""
    first: dict[Hashable, int] = {}
    spans: dict[Hashable, tuple[int, int]] = {}
    left = tops[::-1]
    while left:
        thing = left[-1]
        if thing not in first:
            first[thing] = len(first)
            left += below.get(thing, ())
        else:
            left.pop()
            spans[thing] = first[thing], len(first)
    return spans
