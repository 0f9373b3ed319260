"""Models, locks and lists: their definitions against every order, and the fast checkers against those."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.records import FaultEvent, Header, History, Op
from checkers.models.model_verdict import ModelVerdict
from checkers.models.mutex import judge_mutex
from checkers.models.objects import CasRegister, Mutex, OwnedMutex
from checkers.models.register import judge_register
from checkers.models.search import search
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.double_grants import double_grants
from checkers.rules.early_grants import early_grants
from checkers.rules.lost_updates import lost_updates
from checkers.rules.tokens import duplicate_tokens, token_regressions
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.oracles import pairwise
from tests.oracles.lists import is_list, lost_elements, overwritten
from tests.oracles.models import is_mutex, is_register
from tests.support.brute_force import history_of
from tests.support.differential import CASES, SCALE, disagreements, random_histories
from tests.support.linearizations import explained, mutex_step, owned_mutex_step, register_step
from tests.support.model_histories import KINDS, random_history
from tests.support.selection import Cases
from tests.support.small_histories import list_history, lock_history

pytestmark = pytest.mark.timeout(600 if SCALE == 0 else 3600)

SEARCHES = {
    "register": (register_step, 0),
    "cas-register": (register_step, 0),
    "unique-writes": (register_step, 0),
    "unique-cas": (register_step, 0),
    "mutex": (mutex_step, False),
    "owned-mutex": (owned_mutex_step, None),
    "holds": (owned_mutex_step, None),
}


def is_valid(validity_of: Callable[..., ModelVerdict], *arguments: object) -> Callable[..., bool]:
    return lambda operations: validity_of(operations, *arguments).validity is Validity.VALID


REGISTER_JUDGES = (
    lambda operations: is_register(operations, 0),
    is_valid(judge_register, 0),
    is_valid(search, CasRegister(0)),
)
OWNED_JUDGES = (is_mutex, is_valid(judge_mutex), is_valid(search, OwnedMutex()))
JUDGES = {
    "register": REGISTER_JUDGES,
    "cas-register": REGISTER_JUDGES,
    "unique-writes": REGISTER_JUDGES,
    "unique-cas": REGISTER_JUDGES,
    "mutex": (lambda operations: is_mutex(operations, owned=False), is_valid(search, Mutex())),
    "owned-mutex": OWNED_JUDGES,
    "holds": OWNED_JUDGES,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEARCHES)
def test_registers_and_locks_are_judged_alike_in_three_ways(kind: str) -> None:
    step, initial = SEARCHES[kind]
    definition, *fast = JUDGES[kind]
    histories = random_histories(lambda rng: random_history(rng, KINDS[kind]), f"reference {kind}")

    assert not disagreements(
        histories, lambda operations: explained(operations, step, initial), definition, *fast
    )


def accused(check: Callable[[Evidence], Iterable[Conflict]], history: History) -> set[int]:
    return {conflict.accused.index for conflict in check(Evidence(history=history))}


def of_locks(operations: Sequence[Op], faults: Sequence[FaultEvent] = ()) -> History:
    return History(header=Header(target="test"), operations=tuple(operations), faults=tuple(faults))


@pytest.mark.parametrize(
    ("check", "definition"),
    [
        (token_regressions, pairwise.token_regressions),
        (early_grants, pairwise.early_grants),
        (double_beliefs, pairwise.double_beliefs),
        (duplicate_tokens, pairwise.duplicate_tokens),
    ],
)
def test_grants_are_accused_by_their_definition(
    check: Callable[..., Any], definition: Callable[..., Any], cases: Cases
) -> None:
    found: Callable[..., object] = bool if check is duplicate_tokens else set  # who was first is not certain

    assert not disagreements(
        random_histories(lock_history, check.__name__, cases(CASES, least=200)),
        lambda operations: found(accused(check, of_locks(operations))),
        lambda operations: found(definition(operations)),
    )


def test_double_grants_are_those_that_no_fault_explains() -> None:
    def make(rng: random.Random) -> tuple[list[Op], list[tuple[int, int]]]:
        began = [rng.randint(0, 30) for _ in range(rng.choice([0, 0, 1, 2]))]
        operations = [replace(op, process=op.index % 4) for op in lock_history(rng)]
        return operations, [(each, each + rng.randint(0, 6)) for each in began]

    def fast(case: tuple[list[Op], list[tuple[int, int]]]) -> set[int]:
        return accused(double_grants, of_locks(case[0], events_of(case[1])))

    assert not disagreements(
        random_histories(make, "double grants"), fast, lambda case: pairwise.double_grants(*case)
    )


def events_of(spans: Sequence[tuple[int, int]]) -> list[FaultEvent]:
    """Each fault of a kind of its own: others of one kind and target would be joined in another way."""
    events = [
        FaultEvent(time=time, kind=f"kind-{number}", target="lock", state=state, evidence="")
        for number, span in enumerate(spans)
        for time, state in zip(span, ("in force", "healed"), strict=True)
    ]
    return sorted(events, key=lambda event: event.time)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double-belief", "double-grant"])
def test_a_verdict_counts_each_that_the_definition_accuses(name: str) -> None:
    definition = {"double-belief": pairwise.double_beliefs, "double-grant": pairwise.double_grants}[name]

    def counted(operations: Sequence[Op]) -> int:
        return judge(of_locks(operations)).anomalies[name]

    def defined(operations: Sequence[Op]) -> int:
        return len(definition(operations))

    assert not disagreements(random_histories(lock_history, f"counts of {name}"), counted, defined)


@pytest.mark.slow
def test_tokens_rise_in_some_order_iff_none_regresses_or_repeats() -> None:
    def pairs(operations: Any) -> bool:
        return not (pairwise.token_regressions(operations) or pairwise.duplicate_tokens(operations))

    assert not disagreements(random_histories(lock_history, "tokens"), pairwise.tokens_rise, pairs)


def nothing_lost(operations: Sequence[Op]) -> bool:
    return not (lost_elements(operations) or overwritten(operations))


@pytest.mark.slow
def test_a_list_is_correct_iff_nothing_was_lost_or_overwritten() -> None:
    assert not disagreements(random_histories(list_history, "lists"), is_list, nothing_lost)


@pytest.mark.slow
def test_missing_lists_are_found_again() -> None:
    def nothing_lost(operations: Any) -> bool:
        return not list(lost_updates(gather(history_of(operations, strict=False))))

    assert not disagreements(random_histories(list_history, "untold"), is_list, nothing_lost)
