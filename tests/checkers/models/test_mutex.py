"""Algorithm L against every order, on random and exhaustive small histories, and on literal ones."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.history.operation import Operation
from checkers.history.records import Outcome
from checkers.models.budget import Budget
from checkers.models.model_verdict import Clash, Contradiction, DeadEnd
from checkers.models.mutex import judge_mutex
from checkers.vocabulary.verdict import Validity
from tests.support.linearizations import every_history, explained, mismatches, owned_mutex_step


def lock(f: str, owner: str | None, called: int, returned: int | None = None, **others: Any) -> Operation:
    """An acquire or release; without a return it is an info."""
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(
        **{"f": f, "input": owner, "called": called, "returned": returned, "outcome": outcome} | others
    )


def acquire(owner: str | None, called: int, returned: int | None = None, **others: Any) -> Operation:
    return lock("acquire", owner, called, returned, **others)


def release(owner: str | None, called: int, returned: int | None = None, **others: Any) -> Operation:
    return lock("release", owner, called, returned, **others)


def clash_of(*operations: Any) -> Clash | DeadEnd | None:
    """What L finds; it must not have handed the history on."""
    verdict = judge_mutex(operations)
    assert verdict.method == "pairs"
    return verdict.conflicts[0] if verdict.conflicts else None


@pytest.mark.parametrize(("name", "size"), [("holds", 6), ("holds", 8), ("owned-mutex", 6)])
def test_pairs_agree_with_trying_every_order(name: str, size: int) -> None:
    def judge(history: Any) -> bool:
        return judge_mutex(history).validity is Validity.VALID

    assert not mismatches(judge, name, owned_mutex_step, None, seed=6, size=size)


def test_every_history_of_three_operations_is_judged_right() -> None:
    asked = [lock(f, owner, 0, end) for f in ("acquire", "release") for owner in "ab" for end in (1, None)]
    wrong = [
        history
        for history in every_history(3, asked)
        if (judge_mutex(history).validity is Validity.VALID) != explained(history, owned_mutex_step, None)
    ]

    assert not wrong


def test_holds_one_after_another_are_right() -> None:
    assert clash_of(acquire("a", 0, 1), release("a", 2, 3), acquire("b", 4, 5), release("b", 6, 7)) is None


def test_two_cannot_hold_the_lock_at_once() -> None:
    clash = clash_of(acquire("a", 0, 1), acquire("b", 2, 3), release("a", 4, 5), release("b", 6, 7))

    assert clash == Clash(contradiction=Contradiction.BOTH_HELD, operations=(0, 3, 1, 2))


def test_no_hold_follows_one_that_never_ended() -> None:
    clash = clash_of(acquire("a", 0, 1), acquire("b", 2, 3))

    assert clash == Clash(contradiction=Contradiction.BOTH_HELD, operations=(0, 1))
    assert clash_of(acquire("a", 0, 1), acquire("b", 2, 3), release("b", 4, 5)).operations == (0, 2, 1)


def test_a_hold_that_never_ended_may_come_last() -> None:
    assert clash_of(acquire("a", 0, 9), acquire("b", 2, 3), release("b", 4, 5)) is None


def test_an_unanswered_release_may_have_freed_the_lock() -> None:
    assert clash_of(acquire("a", 0, 1), release("a", 2), acquire("b", 3, 4)) is None


def test_an_unanswered_acquire_may_never_have_been() -> None:
    assert clash_of(acquire("a", 0), acquire("b", 1, 2)) is None


def test_an_unanswered_acquire_has_been_if_its_release_was_acknowledged() -> None:
    clash = clash_of(acquire("a", 0), acquire("b", 1, 2), release("a", 3, 4))

    assert clash == Clash(contradiction=Contradiction.BOTH_HELD, operations=(1, 2, 2))


def test_a_lock_that_was_not_acquired_cannot_be_released() -> None:
    assert clash_of(release("a", 0, 1)) == Clash(contradiction=Contradiction.NEVER_ACQUIRED, operations=(0,))
    assert clash_of(release("a", 0)) is None


def test_a_lock_cannot_be_released_before_it_is_acquired() -> None:
    clash = clash_of(release("a", 0, 1), acquire("a", 2, 3))

    assert clash == Clash(contradiction=Contradiction.RELEASED_BEFORE_ACQUIRED, operations=(0, 1))


def test_a_failed_operation_shows_nothing() -> None:
    refused = acquire("b", 2, 3, outcome=Outcome.FAIL)

    assert clash_of(acquire("a", 0, 1), refused, release("b", 2, 3, outcome=Outcome.FAIL)) is None


def test_an_owner_may_acquire_again_after_its_release() -> None:
    again = (acquire("a", 0, 1), release("a", 2, 3), acquire("a", 4, 5))

    assert clash_of(*again) is None
    assert clash_of(*again, acquire("b", 6, 7)).operations == (2, 3)


@pytest.mark.parametrize(
    "operations",
    [
        (acquire("a", 0, 1), acquire("a", 2, 3)),
        (acquire("a", 0, 1), release("a", 2, 5), acquire("a", 5, 6)),
        (acquire("a", 0, 1), release("a", 2), acquire("a", 5, 6)),
        (lock("lock", "a", 0, 1),),
    ],
    ids=["an acquire within a hold", "at one moment", "after an unanswered release", "another operation"],
)
def test_a_history_that_pairs_do_not_decide_is_searched(operations: tuple[Operation, ...]) -> None:
    assert judge_mutex(operations).method == "search"


def test_without_an_owner_the_process_holds_the_lock() -> None:
    history = (
        acquire(None, 0, 1, process=1),
        release(None, 2, 3, process=2),
    )

    assert clash_of(*history).contradiction is Contradiction.NEVER_ACQUIRED


def test_each_lock_is_judged_by_itself() -> None:
    assert clash_of(acquire("a", 0, 1, key="x"), acquire("b", 2, 3, key="y")) is None


def test_a_lock_that_is_searched_is_searched_within_its_budget() -> None:
    nested = [
        Operation(f="acquire", input="a", called=2 * i, returned=2 * i + 1, outcome=Outcome.OK)
        for i in range(2)
    ]

    release = Operation(f="release", input="a", called=9, returned=10)

    verdict = judge_mutex([*nested, release], Budget(steps=0, steps_per_operation=0))

    assert (verdict.method, verdict.validity) == ("search", Validity.UNKNOWN)
