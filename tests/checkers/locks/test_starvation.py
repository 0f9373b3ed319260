"""Starvation: a client is refused for longer than five graces while nobody held the lock."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers import Validity, judge
from checkers.evidence import Evidence
from checkers.history.columns import Operations
from checkers.history.records import Op, Outcome
from checkers.locks.starvation import starved
from tests.support.lock_requests import BREATH, GRACE, fault, granted, op, refused, run

LEAST = 5 * GRACE


def retried(first: int, last: int, owner: str = "1") -> list[Op]:
    """A client that asks again as soon as it was refused."""
    return [refused(at, at + 1, owner) for at in range(first, last)]


def held(first: int, last: int, owner: str = "0") -> list[Op]:
    return [granted(first, first, owner, ttl=None), op("release", owner, last, last, "ok")]


def clients(*operations: Op, **more: object) -> list[int]:
    return [each.accused.process for each in starved(run(*operations, **more))]


@pytest.mark.parametrize(("last", "found"), [(LEAST, []), (LEAST + 1, [1])])
def test_a_client_that_is_refused_for_longer_than_five_graces_is_starved(last: int, found: list[int]) -> None:
    assert clients(*retried(0, last)) == found


@pytest.mark.parametrize(("length", "found"), [(10, []), (9, [1])])
def test_time_in_which_another_client_held_the_lock_does_not_count(length: int, found: list[int]) -> None:
    assert clients(*retried(0, LEAST + 10), *held(20, 20 + length)) == found


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_counting_starts_again_after_a_grant_or_a_lost_answer(outcome: str) -> None:
    own = op("acquire", "1", 30, 30, outcome)

    assert clients(*retried(0, 30), own, *retried(31, 70)) == []


@pytest.mark.parametrize(("gap", "found"), [(BREATH, [1]), (BREATH + 1, [])])
def test_a_breath_between_two_acquires_is_waiting(gap: int, found: list[int]) -> None:
    assert clients(*retried(0, 30), *retried(30 + gap, LEAST + 2)) == (found if gap > BREATH else [1])
    assert clients(*retried(0, 30), *retried(30 + gap, LEAST + 1)) == found


@pytest.mark.parametrize("target", ["lock", "client:1"])
def test_time_with_a_fault_on_the_service_or_the_client_does_not_count(target: str) -> None:
    assert clients(*retried(0, LEAST + 5), faults=fault(target, 10, 20, "partition")) == []
    assert clients(*retried(0, LEAST + 5), faults=fault("storage", 10, 20, "partition")) == [1]


def test_each_client_is_counted_once_and_the_lock_is_named() -> None:
    favoured = [each for at in range(0, 160, 8) for each in held(at, at + 2, f"{at}0")]
    require = {"stale_writes_attempted": 0}

    verdict = judge(run(*retried(0, 150), *retried(0, 160, "2"), *favoured, require=require).history)

    assert (verdict.validity, verdict.anomalies["starvation"]) == (Validity.VALID, 2)
    assert [finding.summary for finding in verdict.counted] == [
        "client 1 was refused the lock on r0 for 0.112 µs in which nobody held it",
        "client 2 was refused the lock on r0 for 0.120 µs in which nobody held it",
    ]


def by_definition(operations: Sequence[Op]) -> set[int]:
    """Moment by moment: who waits, and does anybody hold the lock?"""
    found = set()
    for process in {one.process for one in operations}:
        time = 0
        for moment in range(300):
            now = moment + 0.5
            own = [one for one in operations if one.f == "acquire" and one.process == process]
            if any(one.outcome is not Outcome.FAIL and one.called == moment for one in own):
                time = 0
            waits = any(
                one.outcome is Outcome.FAIL and one.returned is not None and one.called < now < one.returned
                for one in own
            )
            time += waits and not any(_holds(grant, operations, now) for grant in operations)
            if time > LEAST:
                found.add(process)
    return found


def _holds(grant: Op, operations: Sequence[Op], now: float) -> bool:
    if grant.f != "acquire" or grant.outcome is not Outcome.OK:
        return False
    ends = [one.learned for one in operations if one.f == "release" and one.owner == grant.owner]
    return grant.called < now < min((end for end in ends if end is not None), default=999)


def simulated(rng: random.Random) -> list[Op]:
    """Clients that try one after the other; one of them is favoured."""
    operations, now, favoured = [], 0, rng.choice([0.0, 0.9, 0.98])
    holds = 0
    while now < rng.choice([80, 160, 280]):
        process = rng.randint(0, 2)
        owner = f"{process}{holds}"
        if rng.random() < (0.3 if process == 0 else 0.3 * (1 - favoured)):
            holds += 1
            length = rng.randint(0, 6)
            outcome = "ok" if rng.random() < 0.9 else "info"
            taken = op("acquire", owner, now, now, outcome, process=process, ttl=None)
            given = op("release", owner, now + length, now + length, "ok", process=process)
            operations += [taken, given] if outcome == "ok" else [taken]
            now += length
        for each in range(3):
            operations.append(op("acquire", f"9{each}", now, now + 1, "fail", process=each))
        now += 1
    return operations


def test_agrees_with_the_definition_in_plain_form_and_on_columns() -> None:
    rng = random.Random(5)
    number = 0
    for _ in range(60):
        evidence = run(*simulated(rng), clients=None)
        expected = by_definition(evidence.history.operations)
        columns = Operations.of(evidence.history.operations, None)
        in_columns = Evidence(history=replace(evidence.history, operations=columns))

        assert {each.accused.process for each in starved(evidence)} == expected, evidence
        assert {each.accused.process for each in starved(in_columns)} == expected, evidence
        number += bool(expected)
    assert 10 < number < 50
