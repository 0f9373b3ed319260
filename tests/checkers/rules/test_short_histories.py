"""A short history is called right only if no rule finds anything, and is counted as the rules count."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from checkers.facts.evidence import Evidence
from checkers.history.columns import Operations
from checkers.history.records import Header, History, Op
from checkers.rules.late_writes import late_writes
from checkers.rules.registers import observed
from checkers.rules.short_histories import attempts_if_right
from checkers.rules.unfenced_writes import unfenced_writes
from checkers.verdict.coverage import attempts
from tests.support.broken_storages import KINDS
from tests.support.brute_force import operation, random_register_history
from tests.support.crowds import crowd
from tests.support.differential import SCALE
from tests.support.selection import Cases
from tests.support.storage_runs import simulate

RUNS = max(300, SCALE // 10)

HEADERS = [
    Header(target="t", policy=policy, initial_token=token)
    for policy in ("strict", "inclusive")
    for token in (0, 0, 1)
]


def on_columns(history: History) -> Evidence:
    columns = Operations.of(history.operations, history.header.initial_value)
    return Evidence(history=replace(history, operations=columns))


def check(history: History, said: Counter[bool]) -> None:
    if_right = attempts_if_right(Evidence(history=history))

    columns = on_columns(history)
    said[if_right is not None] += 1
    if if_right is not None:
        assert observed(columns) == (), history
        assert late_writes(columns) == (), history
        assert list(unfenced_writes(columns)) == [], history
        assert attempts(columns) == if_right, history


def test_random_registers(cases: Cases) -> None:
    rng = random.Random("short")
    said: Counter[bool] = Counter()
    right = 0
    for _ in range(cases(RUNS * 5)):
        header = rng.choice(HEADERS)
        operations = random_register_history(rng)
        history = History(header=header, operations=operations)
        check(history, said)
        right += not observed(on_columns(history))

    assert said[True] > right / 3, "most that is right is seen to be right"


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_broken_storages(kind: str, cases: Cases) -> None:
    rng = random.Random(f"{kind} short")
    said: Counter[bool] = Counter()
    for _ in range(cases(RUNS // 10, least=6)):
        check(simulate(rng, kind).history, said)
        check(crowd(rng, kind).history, said)


@pytest.mark.parametrize("f", ["fence", "append", "acquire"])
def test_other_histories_are_left_to_the_rules(f: str) -> None:
    other = Op(index=0, process=0, f=f, resource="r", called=1, token=1)

    def found(*operations: Op, **header: bool) -> dict[str, int] | None:
        history = History(header=replace(HEADERS[0], **header), operations=operations)
        return attempts_if_right(Evidence(history=history))

    assert found(other) is None
    assert found() is not None
    assert found(fenced=False) is None


def write(called: int, token: int | None, outcome: str = "ok", error: str | None = None) -> Op:
    stored = {"index": called, "token": token, "value": f"v{called}", "error": error, "learned": None}
    return operation("write", called, called, called + 1, outcome, **stored)


def counted(*operations: Op) -> dict[str, int] | None:
    return attempts_if_right(Evidence(history=History(header=HEADERS[0], operations=operations)))


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_writes_without_a_token_are_left_to_the_rules(outcome: str) -> None:
    assert counted(write(0, 1), write(2, None, outcome)) is None


def test_a_read_of_a_value_that_was_never_written_is_left_to_the_rules() -> None:
    read = replace(write(0, 0), f="read")

    assert counted(read) is None
    assert counted(replace(read, value=None)) is not None


def test_a_write_that_failed_otherwise_challenged_no_fence() -> None:
    failed, rejected = write(2, 1, "fail", "connection refused"), write(2, 1, "fail", "stale")

    assert counted(write(0, 2), failed) == {
        "late_writes_attempted": 0,
        "stale_writes_attempted": 0,
        "stale_writes_rejected": 0,
        "stale_writes_accepted": 0,
    }
    assert counted(write(0, 2), failed) == attempts(
        on_columns(History(header=HEADERS[0], operations=(write(0, 2), replace(failed, index=1))))
    )
    assert counted(write(0, 2), rejected) != counted(write(0, 2), failed)


def test_a_read_that_failed_is_no_attempt_to_write() -> None:
    failed = replace(write(2, 1, "fail"), f="read")

    assert counted(write(0, 2), failed) == counted(write(0, 2))
