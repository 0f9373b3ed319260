"""Random histories of sets and counters in which many changes overlap with few reads, as hard as small ones get."""

from __future__ import annotations

import random
from collections.abc import Hashable
from typing import Any

from checkers.history.operation import NO_VALUE, Operation
from tests.support.model_operations import op

_END = 12


def counter_history(rng: random.Random) -> tuple[Operation, ...]:
    """Sums of unequal numbers; the reads are near the truth."""
    changes = [
        op("add", *_interval(rng), rng.choice([1, 2, 3, 3, 4, 5, -2])) for _ in range(rng.randint(3, 6))
    ]
    total = 0
    reads = []
    for _ in range(rng.randint(1, 3)):
        total = rng.randint(0, 10) if rng.random() < 0.3 else total + rng.choice([0, 1, 2, 3, 3, 4, 5])
        reads.append(op("read", *_short(rng), answer=total))
    return (*changes, *reads)


def set_history(rng: random.Random) -> tuple[Operation, ...]:
    """Adds and removes, some with an answer; reads of all elements or of one."""
    changes = [_change(rng) for _ in range(rng.randint(3, 6))]
    return (*changes, *(_question(rng) for _ in range(rng.randint(1, 3))))


def _change(rng: random.Random) -> Operation:
    called, returned = _interval(rng)
    answer: Hashable = NO_VALUE if returned is None else rng.choice([NO_VALUE] * 5 + [True, False])
    return op(rng.choice(["add", "add", "remove"]), called, returned, rng.choice("abc"), answer)


def _question(rng: random.Random) -> Operation:
    if rng.random() < 0.3:
        return op("contains", *_short(rng), rng.choice("abc"), rng.random() < 0.5)
    return op("read", *_short(rng), answer=frozenset(rng.sample("abc", rng.choice([0, 1, 1, 2, 2]))))


def _interval(rng: random.Random) -> tuple[int, Any]:
    called = rng.choice([0, 0, 0, rng.randint(0, _END)])
    return called, rng.choice([None, _END + rng.randint(0, 3), rng.randint(called, _END + 3)])


def _short(rng: random.Random) -> tuple[int, int]:
    called = rng.randint(0, _END)
    return called, called + rng.choice([0, 0, 1, 4, 8])
