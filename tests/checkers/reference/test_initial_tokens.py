"""A storage that has a token before the run: what is stale from the start, by every order and by its log."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.history.records import History, Op
from checkers.rules.registers import observed
from checkers.rules.stale_writes.by_log import in_log
from checkers.verdict.judge import judge
from tests.oracles.storages import is_right
from tests.support.brute_force import explained_with_fences, history_of, random_register_history
from tests.support.commit_logs import committed, explained, random_log
from tests.support.differential import disagreements, random_histories
from tests.support.small_histories import contended_history

pytestmark = pytest.mark.nightly


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What was asked of a storage with a token before the run, and its log."""

    operations: tuple[Op, ...]
    start: int
    log: tuple[Op, ...] = ()

    def history(self, *, strict: bool) -> History:
        history = history_of(self.operations, strict=strict)
        return replace(history, header=replace(history.header, initial_token=self.start))


def raised(rng: random.Random, operations: Sequence[Op]) -> Case:
    """All tokens are higher by the one before the run, but for those of one write now and then."""
    start = rng.randint(1, 4)
    lower = rng.choice([op.value for op in operations if op.f == "write"] or [""])
    by = start if rng.random() < 0.5 else rng.randint(0, start)
    moved = (
        replace(op, token=(op.token or 0) + (by if op.value == lower and lower is not None else start))
        for op in operations
    )
    return Case(operations=tuple(moved), start=start)


def contended(rng: random.Random, *, strict: bool) -> Case:
    aimed = rng.random() < 0.5
    made = contended_history(rng, strict=strict, fences=True) if aimed else random_register_history(rng)
    return raised(rng, made)


def with_log(rng: random.Random) -> Case:
    case = raised(rng, random_register_history(rng))
    return replace(case, log=tuple(random_log(rng, case.operations)))


@pytest.mark.parametrize("strict", [True, False])
def test_a_token_from_before_the_run_counts_in_every_order(strict: bool) -> None:
    def every_order(case: Case) -> bool:
        return explained_with_fences(case.operations, strict=strict, start=case.start)

    def definition(case: Case) -> bool:
        return is_right(case.operations, case.history(strict=strict).header)

    def fast(case: Case) -> bool:
        accused = list(observed(Evidence(history=case.history(strict=strict))))
        has_fences = any(op.f == "fence" for op in case.operations)
        return not accused and (not has_fences or every_order(case))  # complete only without fences

    histories = random_histories(lambda rng: contended(rng, strict=strict), f"start {strict}")

    assert not disagreements(histories, every_order, definition, fast)


@pytest.mark.parametrize("strict", [True, False])
def test_with_a_log_the_token_from_before_the_run_counts_too(strict: bool) -> None:
    def every_order(case: Case) -> bool:
        return explained(case.operations, list(case.log), strict=strict, fenced=True, start=case.start)

    def definition(case: Case) -> bool:
        return is_right(case.operations, case.history(strict=strict).header, case.log)

    def fast(case: Case) -> bool:
        return not judge(case.history(strict=strict), committed(list(case.log))).findings

    assert not disagreements(
        random_histories(with_log, f"start, log {strict}"), every_order, definition, fast
    )


@pytest.mark.parametrize("strict", [True, False])
def test_by_the_log_a_write_is_stale_below_the_start_or_what_came_before(strict: bool) -> None:
    def definition(case: Case) -> set[int]:
        """A write that stands twice is a duplicate: of the second place, only a higher token makes it stale."""
        return {
            late.index
            for place, late in enumerate(case.log)
            for mark in (case.start, *(early.token or 0 for early in case.log[:place] if early is not late))
            if (late.token or 0) < mark or (strict and late.token == mark and late not in case.log[:place])
        }

    def fast(case: Case) -> set[int]:
        evidence = gather(case.history(strict=strict), committed(list(case.log)))
        return {each.accused.index for each in in_log(evidence)}

    assert not disagreements(random_histories(with_log, f"stale, log {strict}"), fast, definition)
