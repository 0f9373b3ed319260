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
from tests.support.brute_force import operation, random_register_history, renumbered
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


STRICT, INCLUSIVE = (Header(target="t", policy=policy) for policy in ("strict", "inclusive"))
REFUSED = write(2, 3, "fail", "stale")  # it returned at 3


@pytest.mark.parametrize(
    ("operations", "header", "tried"),
    [
        pytest.param([write(0, 0, "fail", "stale")], STRICT, 0, id="the token from before the run"),
        pytest.param(
            [write(0, 0, "fail", "stale")],
            replace(STRICT, initial_token=1),
            0,
            id="below the one from before the run",
        ),
        pytest.param([write(0, 1), write(2, 0, "fail", "stale")], STRICT, 1, id="token 0"),
        pytest.param([write(0, 5), REFUSED], STRICT, 1, id="an accepted write"),
        pytest.param([write(0, 5, "info"), REFUSED], STRICT, 1, id="an unanswered write"),
        pytest.param([REFUSED, write(3, 5)], STRICT, 1, id="sent as the refusal came"),
        pytest.param([REFUSED, write(3, 5, "info")], STRICT, 1, id="unanswered, sent as the refusal came"),
        pytest.param(
            [write(0, 5), REFUSED, write(9, 4, "info")], STRICT, 1, id="a lower one was sent too late"
        ),
        pytest.param(
            [write(0, 5), REFUSED, replace(write(9, 5), f="read", value="v0")],
            STRICT,
            1,
            id="read afterwards",
        ),
        pytest.param(
            [replace(REFUSED, returned=5), replace(write(4, 5), returned=9), write(5, 2)],
            STRICT,
            1,
            id="all at once",
        ),
        pytest.param([write(0, 5, "info"), REFUSED, write(9, 5)], INCLUSIVE, 1, id="a token used twice"),
    ],
)
def test_a_rejection_with_a_cause_is_right(operations: list[Op], header: Header, tried: int) -> None:
    history = History(header=header, operations=renumbered(operations))

    found = attempts_if_right(Evidence(history=history))

    assert found == attempts(on_columns(history))
    assert found is not None
    assert found["stale_writes_rejected"] == found["stale_writes_attempted"] == tried


def test_an_accepted_write_with_the_first_token_is_left_to_the_rules() -> None:
    assert counted(write(0, 0)) is None


def test_a_read_without_an_answer_causes_no_rejection() -> None:
    unanswered = replace(write(0, 5, "info"), f="read")

    assert counted(unanswered, REFUSED) is None
    assert counted(unanswered) is not None
