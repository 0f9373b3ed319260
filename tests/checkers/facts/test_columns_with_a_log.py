"""With a commit log, columns are judged as operations are: rule by rule, and the verdict with its stories."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from checkers import rules
from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.columns import Operations
from checkers.rules.non_linearizable import commit_order, mismatched_commits, misreads
from checkers.rules.stale_writes import by_log
from checkers.verdict.coverage import coverage
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict
from tests.support.broken_storages import KINDS
from tests.support.crowds import crowd
from tests.support.differential import SCALE, compared
from tests.support.selection import Cases
from tests.support.storage_runs import Run

RUNS = max(60, SCALE // len(KINDS) // 10)
"""Of each kind of storage."""

Rule = Callable[[Evidence], Iterable[Conflict]]

RULES: dict[str, Rule] = {
    "stale in log": by_log.in_log,
    "resolved": rules.registers.resolved,
    "observed": rules.registers.observed,
    "against the log": commit_order.against_the_log,
    "phantom accepts": rules.phantom_accepts.phantom_accepts,
    "lost writes": rules.lost_writes.lost_in_log,
    "read without commit": misreads.reads_not_logged,
    "ghosts": rules.ghost_writes.ghost_writes,
    "duplicates": rules.duplicate_writes.duplicate_writes,
    "mismatched commits": mismatched_commits.mismatched_commits,
    "unfenced": rules.unfenced_writes.unfenced_writes,
    "late writes": rules.late_writes.late_writes,
}


def in_columns(run: Run) -> Run:
    """The same run, its operations as columns."""
    history = run.history
    columns = Operations.of(history.operations, history.header.initial_value)
    return replace(run, history=replace(history, operations=columns))


def evidence(run: Run, *, logged: bool = True) -> Evidence:
    return gather(run.history, run.commits if logged else None, same_run=True)


def verdict(run: Run, *, logged: bool) -> Verdict:
    judged = judge(run.history, run.commits if logged else None, same_run=True)
    return replace(judged, checkers=tuple(replace(each, seconds=0.0) for each in judged.checkers))


@pytest.mark.slow
@pytest.mark.parametrize("runs", [20, RUNS])
@pytest.mark.parametrize("kind", KINDS)
def test_each_rule_finds_the_same_on_columns(kind: Any, runs: int, cases: Cases) -> None:
    rng = random.Random(f"{kind} crowd")
    for _ in range(cases(runs, least=6)):
        run = crowd(rng, kind)
        for logged in (True, False):
            plain, columns = evidence(run, logged=logged), evidence(in_columns(run), logged=logged)
            for name, rule in RULES.items():
                assert list(rule(columns)) == list(rule(plain)), (name, logged, run)
            assert coverage(columns) == coverage(plain), (logged, run)
        compared["columns with a log"] += 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_and_its_stories_are_the_same_on_columns(kind: Any, cases: Cases) -> None:
    rng = random.Random(f"{kind} verdict")
    for _ in range(cases(max(10, RUNS // 10), least=3)):
        run = crowd(rng, kind)
        for logged in (True, False):
            one, other = verdict(run, logged=logged), verdict(in_columns(run), logged=logged)

            assert other == one, (logged, run)
            assert other.to_document() == one.to_document(), (logged, run)


@pytest.mark.slow
def test_the_compared_histories_contain_every_anomaly() -> None:
    rng = random.Random("what is compared")
    found: Counter[str] = Counter()
    for kind in KINDS * 25:
        judged = evidence(crowd(rng, kind))
        found.update(name for name, rule in RULES.items() if list(rule(judged)))

    assert {name for name in RULES if found[name] < 5} == set()
