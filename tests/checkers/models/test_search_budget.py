"""What a search may use, and that it counts this honestly."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence

import pytest

from checkers.history.operation import Operation
from checkers.models.budget import MIB, Budget, Resource
from checkers.models.model_verdict import GaveUp
from checkers.models.objects import CasRegister, Counter, KeyValue, Model, ReentrantMutex, Register, Set
from checkers.models.objects.model import key_of
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.linearizations import op, overlapping_adds
from tests.support.selection import nightly


class Sums:
    """A counter that promises nothing, so that all its totals are tried."""

    initial = 0
    step = Counter().step
    key = staticmethod(key_of)


def hard(key: str | None) -> tuple[Operation, ...]:
    """Unequal adds that all overlap, and a read that none of their many totals explains."""
    return (*overlapping_adds(12, key), op("read", 300, 301, answer=-1, key=key))


def steps(number: int) -> Budget:
    return Budget(steps=number, steps_per_operation=0)


def test_a_history_that_takes_too_long_is_unknown_and_says_why() -> None:
    verdict = search(hard(None), Sums(), steps(2_000))

    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reason == (
        "the search used up its steps before it had explained the return of operation 0"
    )
    assert verdict.gave_up == (GaveUp(operation=0, spent=Resource.STEPS),)
    assert not verdict.conflicts


def test_a_wrong_object_outranks_one_that_took_too_long() -> None:
    slow = hard("slow")
    wrong = (op("read", 0, 1, answer=9, key="wrong"),)

    assert search((*slow, *wrong), Sums(), steps(2_000)).validity is Validity.INVALID
    assert search(slow, Sums(), steps(2_000)).validity is Validity.UNKNOWN


def test_a_long_search_goes_on_unless_another_object_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.models.search.SHORT", 20)
    monkeypatch.setattr("checkers.models.search.NARROW", 1)
    wrong = op("read", 0, 1, answer=9, key="wrong")
    budget = steps(1_000_000)

    alone = search(overlapping_adds(8, "x"), Sums(), budget)
    with_wrong = search((*overlapping_adds(8, "x"), wrong), Sums(), budget)

    assert alone.validity is Validity.VALID
    assert alone.steps > 100
    assert with_wrong.validity is Validity.INVALID
    assert with_wrong.steps < 100
    assert with_wrong.gave_up == (GaveUp(operation=0, spent=Resource.STEPS),)


def test_all_objects_of_a_history_share_the_steps() -> None:
    keys = [*(each for key in range(40) for each in hard(str(key)))]

    verdict = search(keys, Sums(), steps(50_000))

    assert verdict.validity is Validity.UNKNOWN
    assert verdict.steps <= 50_000


def test_many_unanswered_writes_cost_little() -> None:
    lost = [op("write", i, None, i % 3) for i in range(60)]
    turns = [
        turn
        for i in range(100, 400, 10)
        for turn in (op("write", i, i + 1, 7), op("read", i + 2, i + 3, answer=i // 10 % 3))
    ]

    verdict = search((*lost, *turns[:40]), Register())

    assert verdict.validity is Validity.VALID
    assert verdict.explored < 250


def test_overlapping_reads_cost_nothing() -> None:
    reads = [op("read", 2, 50 + i, answer=1) for i in range(30)]

    assert search((op("write", 0, 1, 1), *reads), Register()).explored == 1


def test_configurations_that_others_cover_are_left_out() -> None:
    history = [op("write", 0, None, 1), op("write", 0, None, 2)]
    for i in range(10, 100, 10):
        history += [op("cas", i, i + 1, (1, 3)), op("write", i + 2, i + 5, 1), op("write", i + 2, i + 5, 2)]
        history += [op("cas", i + 6, i + 7, (2, 1))]

    verdict = search(history, CasRegister())

    assert verdict.validity is Validity.VALID
    assert verdict.explored < 90


def concurrent(f: str, values: Sequence[object]) -> list[Operation]:
    return [op(f, 0, 100 + place, value) for place, value in enumerate(values)]


_HALF, _REST = frozenset(range(20)), frozenset(range(10, 30))
LARGE: dict[str, tuple[Model, list[Operation]]] = {
    "counter": (
        Counter(),
        [
            *concurrent("add", [3 * i + 1 for i in range(40)]),
            op("read", 10, 11, answer=500),
            op("read", 12, 13, answer=1_001),
            op("read", 14, 15, answer=1_000),
        ],
    ),
    "long texts": (
        KeyValue(),
        [*concurrent("append", [chr(97 + i) * 500 for i in range(20)]), op("get", 200, 201, answer="x")],
    ),
    "reentrant mutex": (
        ReentrantMutex(),
        [
            *concurrent("acquire", range(15)),
            *(op("release", 0, 200 + i, i) for i in range(15)),
            op("release", 300, 301, 1),
        ],
    ),
    "register": (
        Register(),
        [
            *concurrent("write", [i % 40 for i in range(80)]),
            *(op("read", 10 + 2 * i, 11 + 2 * i, answer=39 - i) for i in range(40)),
            op("read", 95, 96, answer=39),
        ],
    ),
    "set": (
        Set(),
        [
            *concurrent("add", range(40)),
            *(op("remove", 0, 200 + i, i) for i in range(40)),
            op("read", 0, 90, answer=_HALF),
            op("read", 0, 95, answer=_REST),
        ],
    ),
    "texts": (
        KeyValue(),
        [*concurrent("append", [chr(97 + i) for i in range(20)]), op("get", 200, 201, answer="x")],
    ),
}
"""Histories with more configurations than a MiB holds."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counter", *nightly(*(name for name in LARGE if name != "counter"))])
def test_the_bytes_that_a_search_counts_are_those_that_it_takes(name: str) -> None:
    model, history = LARGE[name]
    limit = MIB

    tracemalloc.start()
    verdict = search(history, model, Budget(bytes=limit, steps=1_000_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert verdict.validity is Validity.UNKNOWN
    assert [each.spent for each in verdict.gave_up] == [Resource.MEMORY]
    assert limit / 2 < peak < 1.5 * limit


@pytest.mark.slow
@pytest.mark.parametrize("returned", [20_000, None])
def test_operations_that_are_open_at_once_take_no_square_of_memory(returned: int | None) -> None:
    history = [op("add", i, returned, 2 * i) for i in range(20_000)]

    tracemalloc.start()
    search([*history, op("read", 20_001, 20_002, answer=1)], Sums(), steps(50_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 24 * MIB


def test_results_of_the_model_that_are_no_longer_needed_do_not_count() -> None:
    history = [op("add", 2 * i, 2 * i + 1, i) for i in range(1_500)]  # 1,500 sets, 50 MiB in all

    assert search(history, Set(), Budget(bytes=4 * MIB)).validity is Validity.VALID


APPENDS = """
from checkers.models.objects import KeyValue
from checkers.models.search import search
from tests.support.linearizations import op

verdict = search([op("append", i, i + 25, chr(97 + i // 10 % 26)) for i in range(0, 300, 10)], KeyValue())
print(verdict.explored, verdict.steps)
"""


def test_a_search_takes_the_same_steps_whatever_the_hashes_of_texts() -> None:
    took = {
        subprocess.run(
            [sys.executable, "-c", APPENDS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(1, 4)
    }

    assert len(took) == 1
