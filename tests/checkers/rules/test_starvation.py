"""Starvation: a client is refused for longer than five graces while nobody held the lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.evidence import Evidence
from checkers.history.columns import Operations
from checkers.history.faults import client_of, faults_of
from checkers.history.records import Op
from checkers.rules.starvation import starved
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.oracles import starvation
from tests.support.differential import CASES, disagreements, random_histories
from tests.support.examples import Cases
from tests.support.lock_requests import BREATH, GRACE, fault, granted, op, refused, run
from tests.support.refused_clients import refused_history

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


def test_agrees_with_the_definition_in_plain_form_and_on_columns(cases: Cases) -> None:
    def plain(evidence: Evidence) -> set[int]:
        header = evidence.history.header
        return {client_of(each.accused.process, header) for each in starved(evidence)}

    def on_columns(evidence: Evidence) -> set[int]:
        columns = Operations.of(evidence.history.operations, None)
        return plain(Evidence(history=replace(evidence.history, operations=columns)))

    def definition(evidence: Evidence) -> set[int]:
        history = evidence.history
        return starvation.starved(history.operations, history.header, faults_of(history.faults))

    histories = random_histories(refused_history, "refused", cases(CASES))

    assert not disagreements(histories, plain, on_columns, definition)
