"""Is searching the objects of a history in several processes faster?

The history has many registers whose values repeat, so that each needs the search: in this
process, and split over one new process per core.
"""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.measuring import measured
from checkers.history.operation import NO_VALUE, Operation
from checkers.models.model_verdict import ModelVerdict, combined
from checkers.models.objects import CasRegister
from checkers.models.search import search

_VALUES = 5
_TAKES = 10  # the longest operation; one is called at every moment


def keys(count: int, operations: int, times: int) -> dict[str, Any]:
    """Judge `count` registers with `operations` operations each, in one process and in several."""
    parts = [list(_register(key, operations)) for key in range(count)]
    history = [op for part in parts for op in part]
    alone = measured(times, lambda: search(history, CasRegister()))
    spread = measured(times, lambda: _in_processes(parts))
    return {"alone": alone, "spread": spread, "processes": os.cpu_count(), "operations": len(history)}


def _in_processes(parts: Sequence[list[Operation]]) -> ModelVerdict:
    processes = os.cpu_count() or 1
    shares = [[op for part in parts[first::processes] for op in part] for first in range(processes)]
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        return combined(pool.map(_judge, shares))


def _judge(history: list[Operation]) -> ModelVerdict:
    return search(history, CasRegister())


def _register(key: int, operations: int) -> Iterator[Operation]:
    """Yield operations of a correct register; each takes effect when it is called."""
    rng = random.Random(key)
    value: int | None = None
    for called in range(operations):
        f = rng.choice(["read", "write", "cas"])
        asked: Hashable = None
        found, new = value, rng.randrange(_VALUES)
        if f != "read":
            asked, value = new if f == "write" else (found, new), new
        returned = called + rng.randrange(1, _TAKES)
        yield Operation(
            f=f,
            process=called,
            input=asked,
            output=found if f == "read" else NO_VALUE,
            called=called,
            returned=returned,
            key=key,
        )
