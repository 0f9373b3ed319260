"""The number of configurations that a search examines, and its limit."""

from __future__ import annotations

import pytest

from checkers.linearizability.models import (
    CasRegister,
    Counter,
    Register,
)
from checkers.linearizability.search import search
from checkers.verdict import Validity
from tests.support.model_operations import op, overlapping_adds


def test_a_history_that_takes_too_long_is_unknown_and_says_why() -> None:
    adds = [op("add", 0, 100 + i, i + 1) for i in range(12)]
    history = (*adds, op("read", 300, 301, answer=-1))

    verdict = search(history, Counter(), budget=500)

    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reason == (
        "the search examined 500 configurations and had not explained the return of operation 0"
    )
    assert verdict.explored == 500
    assert not verdict.conflicts


def test_a_wrong_object_outranks_one_that_took_too_long() -> None:
    slow = tuple(op("add", 0, 100 + i, i + 1, key="slow") for i in range(12))
    wrong = (op("read", 0, 1, answer=9, key="wrong"),)

    assert search((*slow, *wrong), Counter(), budget=50).validity is Validity.INVALID
    assert search(slow, Counter(), budget=50).validity is Validity.UNKNOWN


def test_a_long_search_goes_on_unless_another_object_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("checkers.linearizability.search.SHORT", 20)
    wrong = op("read", 0, 1, answer=9, key="wrong")

    alone = search(overlapping_adds(8, "x"), Counter())
    with_wrong = search((*overlapping_adds(8, "x"), wrong), Counter())

    assert alone.validity is Validity.VALID
    assert alone.explored > 20
    assert with_wrong.validity is Validity.INVALID
    assert with_wrong.explored == 20 + 1
    assert with_wrong.reason.startswith("the search examined 20 configurations")


def test_a_short_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.linearizability.search.SHORT", 20)

    assert search(overlapping_adds(8, "x"), Counter(), budget=10).explored == 10
    assert search(overlapping_adds(8, "x"), Counter(), budget=30).explored == 30


def test_as_many_configurations_as_are_needed_are_enough() -> None:
    history = overlapping_adds(4, None)
    needed = search(history, Counter()).explored

    assert search(history, Counter(), budget=needed).validity is Validity.VALID
    assert search(history, Counter(), budget=needed - 1).validity is Validity.UNKNOWN


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
