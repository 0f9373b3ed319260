"""Delta debugging: leave out as much as possible while something still holds.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002; without the tests
of single parts, which hardly ever hold alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def reduced(parts: Sequence[Part], holds: Callable[[Sequence[Part]], bool]) -> Sequence[Part]:
    """Return parts of which none can be left out alone; `holds` must be true of all of them.

    Neighbours are left out together first, so parts that belong together should be neighbours. No
    selection is tried twice.
    """
    kept = list(range(len(parts)))
    refused: set[tuple[int, ...]] = set()
    size = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        start = 0
        while start < len(kept):
            rest = [*kept[:start], *kept[start + size :]]
            if tuple(rest) not in refused and holds([parts[index] for index in rest]):
                kept = rest
            else:
                refused.add(tuple(rest))
                start += size
        if size == 1 and len(kept) == before:
            return [parts[index] for index in kept]
        size = max(1, size // 2)
