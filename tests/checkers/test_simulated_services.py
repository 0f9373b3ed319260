"""Runs of simulated services: right ones are never accused, planted bugs are found."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.reader import parse
from checkers.history.records import History
from checkers.rules.early_grants import early_grants
from checkers.rules.lost_updates import dropped_in_log, lost_updates
from checkers.rules.tokens import duplicate_tokens, token_regressions
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity, Verdict
from tests.support.differential import SCALE
from tests.support.selection import nightly
from tests.support.simulated_services import TIMEOUT, TTL
from tests.support.simulation import Simulation

KINDS = [
    *(
        {"policy": policy, "sessions": sessions}
        for policy in ("strict", "inclusive")
        for sessions in (False, True)
    ),
    {"policy": "strict", "appends": True, "outages": True},
    {"policy": "inclusive", "appends": True},
    {"policy": "inclusive", "appends": True, "fence_on_acquire": True, "outages": True},
]
LOCKS = [
    {"again": again, "sessions": sessions, "ttls": ttls, "slowest": slowest}
    for again, sessions, ttls, slowest in itertools.product(
        (None, "refused", "same token", "new token"),
        (False, True),
        ((TTL,), (TTL // 3, TTL, 2 * TTL)),
        (3 * TIMEOUT, 12 * TIMEOUT),
    )
]
"""Lock services: what comes of an owner's second acquire, and how its lease is kept."""

LOCK_RUNS = max(10, SCALE // len(LOCKS))


def name_of(kind: dict[str, Any]) -> str:
    return "-".join(map(str, kind.values()))


def judged(run: Simulation) -> tuple[History, Verdict, Verdict]:
    """The verdict on what the clients saw, and with the storage's own order."""
    history = parse(run.lines())
    return history, judge(history), judge(history, run.commits())


def names(verdict: Verdict) -> set[str]:
    return {finding.anomaly for finding in verdict.findings}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[-1], *nightly(*KINDS[1:-1])], ids=name_of)
def test_nothing_is_found_in_correct_services(kind: dict[str, Any]) -> None:
    challenges = past_lease = unknown = 0
    for seed in range(75):
        history, observed, committed = judged(Simulation(seed=seed, **kind))

        assert not observed.findings, (seed, observed.findings)
        assert not committed.findings, (seed, committed.findings)
        assert observed.validity is committed.validity is Validity.VALID
        assert committed.coverage["stale_writes_accepted"] == 0
        challenges += committed.coverage["stale_writes_rejected"]
        past_lease += committed.coverage["pauses_past_lease"]
        unknown += sum(op.returned is None for op in history.operations)
    assert challenges > 50
    assert past_lease > 100
    assert unknown > 500


@pytest.mark.parametrize("kind", LOCKS, ids=name_of)
def test_no_lock_service_that_keeps_its_promises_is_accused(kind: dict[str, Any]) -> None:
    for seed in range(LOCK_RUNS):
        assert not lock_conflicts(seed, kind, early=0), seed


@pytest.mark.parametrize("kind", LOCKS, ids=name_of)
def test_a_lock_service_that_ends_leases_early_is_found(kind: dict[str, Any]) -> None:
    assert any(lock_conflicts(seed, kind, early=1500) for seed in range(10))


def lock_conflicts(seed: int, kind: dict[str, object], *, early: int) -> list[tuple[str, int]]:
    """Judge the whole record, then without attempts, without tokens, and without both; return all findings."""
    run = Simulation(seed=seed, slow=0.15, end=20_000, outages=seed % 5 == 0, early=early, **kind)
    history = parse(run.lines())
    checks = (early_grants, duplicate_tokens, token_regressions)
    return [
        (each.anomaly, each.accused.index)
        for left_out in ((), ("attempt",), ("token",), ("attempt", "token"))
        for check in checks
        for each in check(Evidence(history=without(history, left_out)))
    ]


def without(history: History, fields: Sequence[str]) -> History:
    operations = (replace(op, **dict.fromkeys(fields)) for op in history.operations)
    return replace(history, operations=tuple(operations))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["inclusive", *nightly("strict")])
def test_without_a_fence_only_stale_writes_are_found(policy: str) -> None:
    found = seen = 0
    for seed in range(75):
        run = Simulation(seed=seed, policy=policy, fenced=False)
        _, observed, committed = judged(run)

        tokens = [token for _, token in run.storage.log]
        stale = sum(token < max(tokens[:place], default=0) for place, token in enumerate(tokens))
        assert committed.anomalies["stale-write"] == stale
        assert observed.anomalies["stale-write"] <= stale
        assert names(committed) | names(observed) <= {"stale-write"}, (seed, observed.findings)
        assert committed.coverage["stale_writes_accepted"] == stale
        found += stale
        seen += observed.anomalies["stale-write"]
    assert found > 50
    assert seen > found * 0.8  # clients see nearly all of them


@pytest.mark.slow
def test_elements_that_old_lists_lack_are_found() -> None:
    for seed in range(10):
        _, observed, committed = judged(Simulation(seed=seed, policy="inclusive", appends=True, lag=0.3))
        assert names(observed) == names(committed) == {"lost-update"}
        for finding in (*observed.findings, *committed.findings):
            assert not finding.account.doubt


@pytest.mark.slow
def test_locks_that_outlast_their_leases_are_found() -> None:
    found = 0
    for seed in range(20):
        _, observed, _ = judged(Simulation(seed=seed, stuck=True, slow=0))
        assert names(observed) <= {"stuck-lock"}
        assert not any(finding.account.doubt for finding in observed.findings)
        found += observed.anomalies["stuck-lock"] > 0
    assert found > 10


@pytest.mark.nightly
def test_leases_that_end_too_soon_are_found() -> None:
    found = 0
    for seed in range(40):
        _, observed, _ = judged(Simulation(seed=seed, early=1500, sessions=bool(seed % 2)))
        assert names(observed) <= {"early-grant"}
        found += observed.anomalies["early-grant"] > 0
    assert found > 30


@pytest.mark.slow
def test_a_lock_service_that_forgets_its_tokens_is_found() -> None:
    for seed in range(20):
        _, observed, _ = judged(Simulation(seed=seed, forgetful=True))
        assert names(observed) & {"duplicate-token", "token-regression"}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["strict", *nightly("inclusive")])
def test_a_loss_by_failover_is_found_and_its_consequences_name_it(policy: str) -> None:
    lost = seen = followed = 0
    for seed in range(60):
        run = Simulation(seed=seed, policy=policy, failovers=2)
        history, observed, committed = judged(run)

        acknowledged = {op.value for op in history.operations if op.f == "write" and op.outcome == "ok"}
        acknowledged |= {op.value for op in history.operations if op.f == "read"}
        gone = {value for value, _ in run.lost} & acknowledged
        accused = {each.accused for each in committed.findings if each.anomaly == "lost-write"}
        assert {history.operations[index].value for index in accused} == gone, seed
        assert names(committed) <= {"lost-write", "high-water-regression", "stale-write", "stale-read"}, seed
        assert names(observed) <= {"lost-write", "high-water-regression", "stale-write", "stale-read"}, seed
        for each in (*observed.findings, *committed.findings):
            if each.anomaly == "high-water-regression":
                assert each.caused_by is not None
                assert each.caused_by.anomaly == "lost-write"
        assert all(each.caused_by for each in committed.findings if each.anomaly == "stale-write"), seed
        assert not [reason for reason in committed.reasons if "contradict" in reason], seed
        found = {each.accused for each in observed.findings if each.anomaly == "lost-write"}
        assert {history.operations[index].value for index in found} <= gone, seed
        lost += len(gone)
        seen += len(found)
        followed += sum(each.caused_by is not None for each in committed.findings)
    assert lost > 50
    assert seen > 5
    assert followed > 5


LIST_KINDS = [
    {"policy": "strict"},
    {"policy": "inclusive"},
    {"policy": "inclusive", "sessions": True, "outages": True},
]


def in_run(run: Simulation) -> tuple[list[Conflict], list[Conflict]]:
    """What clients saw, and what the storage's own order shows."""
    observed = gather(parse(run.lines()))
    return list(lost_updates(observed)), list(dropped_in_log(gather(observed.history, run.commits())))


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIST_KINDS, ids=str)
def test_correct_services_lose_updates_only_by_late_writes(kind: dict[str, Any]) -> None:
    counted = 0
    for seed in range(75):
        observed, committed = in_run(Simulation(seed=seed, appends=True, **kind))

        assert all(each.counted for each in (*observed, *committed)), seed
        assert {each.because[0].element for each in observed} <= everything_dropped(seed, kind)
        counted += bool(observed)
    assert counted > 5


def everything_dropped(seed: int, kind: dict[str, object]) -> set[str]:
    """By the storage itself: what one list had and the next had not."""
    log = [value for value, _ in Simulation(seed=seed, appends=True, **kind).storage.log]
    return {element for one, other in itertools.pairwise(log) for element in set(one).difference(other)}


@pytest.mark.slow
def test_nothing_is_lost_with_fence_on_acquire() -> None:
    for seed in range(100):
        run = Simulation(seed=seed, appends=True, policy="inclusive", fence_on_acquire=True)

        assert in_run(run) == ([], []), seed


def test_lists_that_are_read_as_they_were_before_are_found() -> None:
    found = 0
    for seed in range(30):
        observed, _ = in_run(Simulation(seed=seed, appends=True, policy="inclusive", lag=0.2))
        found += any(not each.counted for each in observed)
    assert found > 25
