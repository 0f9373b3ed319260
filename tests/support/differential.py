"""Judges of small histories, held against each other; and how many histories that takes."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

SCALE = int(os.environ.get("FENCEPOST_DIFFERENTIAL", "0"))
"""How many histories at the least a nightly run compares in all; 0: the ordinary number."""

CASES = max(800, SCALE // 100)
"""Random histories for each differential test, of which there are some sixty."""

LEAST = 0.01
"""Of the histories of a test, at least this share is right, and at least this share is wrong."""

compared: Counter[str] = Counter()
"""How many histories each test compared."""

disagreed: Counter[str] = Counter()
"""How many of those were not judged alike."""


def random_histories(make: Callable[[random.Random], T], seed: object, count: int = CASES) -> Iterator[T]:
    """Histories that are the same each time for one seed."""
    rng = random.Random(str(seed))
    return (make(rng) for _ in range(count))


def disagreements(histories: Iterable[T], *judges: Callable[[T], object]) -> list[T]:
    """The histories about which the judges do not all say the same."""
    said: Counter[object] = Counter()
    wrong = []
    for history in histories:
        first, *others = (judge(history) for judge in judges)
        said[bool(first)] += 1
        if any(other != first for other in others):
            wrong.append(history)
    total = said.total()
    compared[_test()] += total
    disagreed[_test()] += len(wrong)
    assert min(said[True], said[False]) > LEAST * total, f"one-sided: {said}"
    return wrong


def _test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "").split("[", maxsplit=1)[0].split(" ", maxsplit=1)[0]
