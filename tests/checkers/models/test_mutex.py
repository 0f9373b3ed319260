"""Algorithm L against every order, on random and exhaustive small histories, and on literal ones."""

from __future__ import annotations

from dataclasses import replace
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


@pytest.mark.slow
def test_every_history_of_three_operations_is_judged_right() -> None:
    asked = [lock(f, owner, 0, end) for f in ("acquire", "release") for owner in "ab" for end in (1, None)]
    wrong = [
        history
        for history in every_history(3, asked)
        if (judge_mutex(history).validity is Validity.VALID) != explained(history, owned_mutex_step, None)
    ]

    assert not wrong


HELD, NEXT = acquire("a", 0, 1), acquire("b", 2, 3)
AGAIN = (HELD, release("a", 2, 3), acquire("a", 4, 5))


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param((*AGAIN[:2], acquire("b", 4, 5), release("b", 6, 7)), id="one after another"),
        pytest.param(AGAIN, id="an owner again after its release"),
        pytest.param((acquire("a", 0, 9), NEXT, release("b", 4, 5)), id="a hold that never ended comes last"),
        pytest.param((HELD, release("a", 2), acquire("b", 3, 4)), id="an unanswered release freed the lock"),
        pytest.param((acquire("a", 0), acquire("b", 1, 2)), id="an unanswered acquire that never was"),
        pytest.param((release("a", 0),), id="an unanswered release that never was"),
        pytest.param(
            (HELD, replace(NEXT, outcome=Outcome.FAIL), release("b", 2, 3, outcome=Outcome.FAIL)),
            id="failed operations",
        ),
        pytest.param(
            (acquire("a", 0, 1, key="x"), acquire("b", 2, 3, key="y")), id="each lock is judged by itself"
        ),
    ],
)
def test_a_history_is_right_if_holds_can_follow_each_other(operations: tuple[Operation, ...]) -> None:
    assert clash_of(*operations) is None


@pytest.mark.parametrize(
    ("operations", "contradiction", "named"),
    [
        pytest.param(
            (HELD, NEXT, release("a", 4, 5), release("b", 6, 7)), "BOTH_HELD", (0, 3, 1, 2), id="two at once"
        ),
        pytest.param((HELD, NEXT), "BOTH_HELD", (0, 1), id="after a hold that never ended"),
        pytest.param((HELD, NEXT, release("b", 4, 5)), "BOTH_HELD", (0, 2, 1), id="and before its own end"),
        pytest.param((*AGAIN, acquire("b", 6, 7)), "BOTH_HELD", (2, 3), id="in an owner's second hold"),
        pytest.param(
            (acquire("a", 0), acquire("b", 1, 2), release("a", 3, 4)),
            "BOTH_HELD",
            (1, 2, 2),
            id="an unanswered acquire whose release was acknowledged",
        ),
        pytest.param((release("a", 0, 1),), "NEVER_ACQUIRED", (0,), id="a release without a hold"),
        pytest.param(
            (acquire(None, 0, 1, process=1), release(None, 2, 3, process=2)),
            "NEVER_ACQUIRED",
            (1,),
            id="without an owner the process holds",
        ),
        pytest.param(
            (release("a", 0, 1), acquire("a", 2, 3)),
            "RELEASED_BEFORE_ACQUIRED",
            (0, 1),
            id="a release too early",
        ),
    ],
)
def test_what_no_order_of_holds_explains_is_named(
    operations: tuple[Operation, ...], contradiction: str, named: tuple[int, ...]
) -> None:
    assert clash_of(*operations) == Clash(contradiction=Contradiction[contradiction], operations=named)


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


def test_a_lock_that_is_searched_is_searched_within_its_budget() -> None:
    nested = [
        Operation(f="acquire", input="a", called=2 * i, returned=2 * i + 1, outcome=Outcome.OK)
        for i in range(2)
    ]

    release = Operation(f="release", input="a", called=9, returned=10)

    verdict = judge_mutex([*nested, release], Budget(steps=0, steps_per_operation=0))

    assert (verdict.method, verdict.validity) == ("search", Validity.UNKNOWN)
