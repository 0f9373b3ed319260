"""Models, locks and lists: their definitions against every order, and the fast checkers against those."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest
from brute_force import history_of
from differential import SCALE, disagreements, random_histories
from linearizations import KINDS, explained, mutex_step, owned_mutex_step, random_history, register_step
from small_histories import list_history, lock_history

from checkers.conflict import Conflict
from checkers.double_beliefs import double_beliefs
from checkers.early_grants import early_grants
from checkers.evidence import Evidence, gather
from checkers.grants import duplicate_tokens, token_regressions
from checkers.judgement import Judgement
from checkers.linearizable import search
from checkers.models import CasRegister, Mutex, OwnedMutex
from checkers.mutex import judge_mutex
from checkers.records import Header, History, Op
from checkers.reference import definitions
from checkers.reference.lists import is_list, lost_elements, overwritten
from checkers.reference.models import is_mutex, is_register
from checkers.register import judge_register
from checkers.updates import lost_updates
from checkers.verdict import Validity

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 if SCALE == 0 else 3600)]

SEARCHES = {
    "register": (register_step, 0),
    "cas-register": (register_step, 0),
    "unique-writes": (register_step, 0),
    "unique-cas": (register_step, 0),
    "mutex": (mutex_step, False),
    "owned-mutex": (owned_mutex_step, None),
    "holds": (owned_mutex_step, None),
}


def is_valid(validity_of: Callable[..., Judgement], *arguments: object) -> Callable[..., bool]:
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


@pytest.mark.parametrize("kind", SEARCHES)
def test_registers_and_locks_are_judged_alike_by_definition_by_every_order_and_fast(kind):
    step, initial = SEARCHES[kind]
    definition, *fast = JUDGES[kind]
    histories = random_histories(lambda rng: random_history(rng, KINDS[kind]), f"reference {kind}")

    assert not disagreements(
        histories, lambda operations: explained(operations, step, initial), definition, *fast
    )


def accused(check: Callable[[Evidence], Iterable[Conflict]], operations: Sequence[Op]) -> set[int]:
    history = History(header=Header(target="test"), operations=operations)
    return {conflict.accused.index for conflict in check(Evidence(history=history))}


@pytest.mark.parametrize(
    ("check", "definition"),
    [
        (token_regressions, definitions.token_regressions),
        (early_grants, definitions.early_grants),
        (double_beliefs, definitions.double_beliefs),
    ],
)
def test_grants_are_accused_by_their_definition(check, definition):
    histories = random_histories(lock_history, check.__name__)

    assert not disagreements(histories, lambda operations: accused(check, operations), definition)


def test_duplicate_tokens_accuse_all_but_the_first_of_each():
    def fast(operations):
        return bool(accused(duplicate_tokens, operations))

    def definition(operations):
        return bool(definitions.duplicate_tokens(operations))

    assert not disagreements(random_histories(lock_history, "duplicates"), fast, definition)


def test_the_tokens_of_grants_rise_in_some_order_iff_none_regresses_or_comes_twice():
    def pairs(operations):
        return not (definitions.token_regressions(operations) or definitions.duplicate_tokens(operations))

    assert not disagreements(random_histories(lock_history, "tokens"), definitions.tokens_rise, pairs)


def nothing_lost(operations: Sequence[Op]) -> bool:
    return not (lost_elements(operations) or overwritten(operations))


def test_a_list_is_right_iff_no_element_was_lost_and_no_list_was_overwritten():
    assert not disagreements(random_histories(list_history, "lists"), is_list, nothing_lost)


def test_lost_updates_are_told_by_their_definition():
    def fast(operations):
        return not list(lost_updates(gather(history_of(operations, strict=False))))

    histories = random_histories(lambda rng: list_history(rng, told=True), "updates")

    assert not disagreements(histories, fast, nothing_lost)


def test_lists_that_were_not_told_are_found_again():
    def nothing_lost(operations):
        return not list(lost_updates(gather(history_of(operations, strict=False))))

    assert not disagreements(random_histories(list_history, "untold"), is_list, nothing_lost)
