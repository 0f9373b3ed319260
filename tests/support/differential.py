"""Compare judges on small histories, and count the histories."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

SCALE = int(os.environ.get("FENCEPOST_DIFFERENTIAL", "0"))
"""The minimum number of histories that a nightly run compares in all; 0: the ordinary number."""

CASES = max(800, SCALE // 100)
"""Random histories for each differential test, of which there are some sixty."""

LEAST = 0.01
"""The minimum share of correct histories in a test, and of wrong ones."""

compared: Counter[str] = Counter()
"""How many histories each test compared."""

disagreed: Counter[str] = Counter()
"""How many of those were not judged alike."""


def random_histories(make: Callable[[random.Random], T], seed: object, count: int = CASES) -> Iterator[T]:
    """Histories that depend only on the seed."""
    rng = random.Random(str(seed))
    return (make(rng) for _ in range(count))


def disagreements(histories: Iterable[T], *judges: Callable[[T], object]) -> list[T]:
    """The histories on which the judges disagree."""
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
