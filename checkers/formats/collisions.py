"""Protection against values with the same hash, which make a set or a dict take quadratic time.

Python salts the hashes of texts, but not of numbers, nor of tuples and sets of numbers. So someone can
make a history in which thousands of values have one hash. No tool writes one: among 64-bit numbers, at
most nine have a hash in common.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TypeVar

MOST = 64
T = TypeVar("T", bound=Collection[Hashable])


def without_collisions(values: T) -> T:
    """Return the values; ValueError if more than `MOST` have one hash, TypeError if one has none."""
    if len(values) - len(set(map(hash, values))) < MOST:
        return values
    alike: dict[int, list[Hashable]] = {}
    for value in values:
        others = alike.setdefault(hash(value), [])
        if value not in others:
            others.append(value)
        if len(others) > MOST:
            raise ValueError(f"more than {MOST} different values with the same hash, which no tool writes")
    return values
