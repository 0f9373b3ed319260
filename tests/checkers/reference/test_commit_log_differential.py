"""Runs of broken storages with commit logs: the checkers name what the definitions name, and nothing else.

`FENCEPOST_DIFFERENTIAL=500000 pytest tests/checkers/reference/test_commit_log_differential.py` makes it a nightly run.
"""

from __future__ import annotations

import random

import pytest

from checkers.facts.evidence import gather
from checkers.history.plain_text import IrregularError
from checkers.history.reader import parse
from checkers.history.records import Commit, History
from checkers.verdict.judge import examine
from checkers.vocabulary.verdict import Finding
from tests.oracles.commit_logs import names
from tests.support.broken_storages import BROKEN, KINDS, RIGHT
from tests.support.differential import SCALE, compared, disagreed
from tests.support.in_columns import in_columns, lines_of
from tests.support.logged_resource import Names, Resource
from tests.support.selection import Cases
from tests.support.storage_runs import Run, simulate

RUNS = max(150, SCALE // len(KINDS))
"""Of each kind of storage."""


def findings(run: Run) -> tuple[Finding, ...]:
    examined = examine(gather(run.history, run.commits, same_run=True))
    assert not examined.crashes, (run, examined.crashes)
    return tuple(each for each in examined.findings if each.is_violation)


def defined(run: Run) -> Names:
    return names(
        Resource(
            header=run.history.header,
            operations=run.history.operations,
            commits=run.commits,
            restarts=run.restarts,
            is_cut_short=run.history.is_cut_short,
            logs_fences=any(commit.fence for commit in run.commits),
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_names_of_the_anomalies_are_those_of_the_definitions(kind: str, cases: Cases) -> None:
    rng = random.Random(f"{kind} 1")
    wrong = 0
    for _ in range(cases(RUNS)):
        run = simulate(rng, kind)

        found = {name for each in findings(run) for name in (each.anomaly, *each.also)}

        wrong += bool(found)
        compared["commit logs"] += 1
        disagreed["commit logs"] += not defined(run).agree(found)
        assert defined(run).agree(found), (run, found, defined(run))
        assert kind not in RIGHT or not found, (run, found)
    assert (wrong > 0) == (kind in BROKEN)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_judged_as_operations_are_with_the_log_and_without(kind: str) -> None:
    rng = random.Random(f"{kind} columns")
    for _ in range(RUNS // 10):
        run = simulate(rng, kind)
        header = run.history.header
        lines = lines_of(
            run.history.operations,
            policy=header.policy,
            fenced=header.fenced,
            initial={"value": None, "token": header.initial_token},
        )
        try:
            columns = in_columns(lines)
        except IrregularError:
            continue  # columns do not hold what such a history has
        for commits in (run.commits, None):
            assert events(columns, commits) == events(parse(lines), commits), lines


def events(history: History, commits: tuple[Commit, ...] | None) -> list[tuple[object, ...]]:
    examined = examine(gather(history, commits, same_run=True))
    assert not examined.crashes
    return [(each.anomaly, each.accused, each.because, each.also) for each in examined.findings]
