"""Each step of a story holds by itself on the operations that it names, and the steps form a cycle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from checkers.explain import cycles
from checkers.explain.story import Step
from checkers.facts.evidence import gather
from checkers.facts.log_columns import LogColumns
from checkers.history.records import WRITES, Header, Op, Outcome
from checkers.reference.precedence import INITIAL, Edge, Why
from checkers.verdict.judge import examine
from tests.support.broken_storages import BROKEN
from tests.support.differential import SCALE
from tests.support.storage_runs import simulate

RUNS = max(30, SCALE // 2000)
"""Of each kind of storage."""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Edge, ...], Sequence[Op]]]:
    """The cycles that were explained, with the operations that their places name."""
    seen: list[tuple[tuple[Edge, ...], Sequence[Op]]] = []
    around = cycles.around

    def shown_around(edges: Any, operations: Any, *words: Any) -> tuple[Step, ...]:
        seen.append((edges, operations))
        return around(edges, operations, *words)

    monkeypatch.setattr(cycles, "around", shown_around)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_each_step_is_forced_by_time_log_token_or_reading(
    kind: str, shown: list[tuple[tuple[Edge, ...], Sequence[Op]]]
) -> None:
    rng = random.Random(f"steps {kind}")
    reasons: Counter[Why] = Counter()
    for _ in range(RUNS):
        run = simulate(rng, kind)
        log = gather(run.history, run.commits, same_run=True).log
        shown.clear()

        accounts = [
            finding.account
            for commits in (run.commits, None)
            for finding in examine(gather(run.history, commits, same_run=True)).findings
            if finding.is_violation
        ]

        assert not [account for account in accounts if account.doubt], (run, accounts)
        for edges, operations in shown:
            assert edges[-1].after == edges[0].before
            for one, other in pairwise(edges):
                assert one.after == other.before
            for edge in (premise for each in edges for premise in with_premises(each)):
                reasons[edge.reason] += 1
                assert is_forced(edge, operations, run.history.header, log), (edge, operations, run)
    assert reasons or not shown


def with_premises(edge: Edge) -> Iterator[Edge]:
    yield edge
    for premise in edge.premise:
        yield from with_premises(premise)


def is_forced(edge: Edge, operations: Sequence[Op], header: Header, log: LogColumns | None) -> bool:
    """Does the reason of an edge hold, by its definition, of the two operations that it names?"""
    before, after = (None if node is INITIAL else operations[node] for node in (edge.before, edge.after))
    match edge.reason:
        case Why.INITIAL:
            return before is None
        case Why.REAL_TIME:
            return before is not None and after is not None and before.precedes(after)
        case Why.LOG_ORDER:
            return log is not None and min(log.places(before)) < max(log.places(after))
        case Why.READ_FROM:
            held = header.initial_value if before is None else before.value
            return after is not None and after.f == "read" and after.value == held
        case Why.TOKEN_ORDER:
            mark = header.initial_token if after is None else after.token
            strict = header.policy == "strict"
            return before.f in WRITES and (before.token <= mark if strict else before.token < mark)
        case Why.REJECTED_BECAUSE:
            least = after.token + (header.policy == "inclusive")
            return after.outcome is Outcome.FAIL and (before is None or before.token >= least)
        case Why.REPLACED | Why.WRITTEN_LATER:
            return follows(edge, operations, header)
    return False


def follows(edge: Edge, operations: Sequence[Op], header: Header) -> bool:
    """Does a path lead from the value of the one to the value of the other, each written once?"""

    def value(node: Any) -> object:
        return header.initial_value if node is INITIAL else operations[node].value

    first, last = edge.premise[0].before, edge.premise[-1].after
    for one, other in pairwise(edge.premise):
        if one.after != other.before:
            return False
    return value(first) == value(edge.before) and value(last) == value(edge.after) != value(edge.before)
