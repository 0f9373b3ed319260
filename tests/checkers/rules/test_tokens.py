"""Tokens of grants, at the boundaries of a hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import Outcome
from checkers.rules.tokens import duplicate_tokens, token_regressions
from tests.support.lock_requests import acquire, locks


def test_tokens_of_different_resources_are_not_compared() -> None:
    grants = [
        replace(acquire(index, f"{index}", token, 10 * index, 10 * index + 1), resource=resource)
        for index, (resource, token) in enumerate([("r0", 5), ("r1", 5), ("r1", 6), ("r0", 6)])
    ]
    evidence = locks(*grants)

    assert not list(duplicate_tokens(evidence))
    assert not list(token_regressions(evidence))


def test_the_token_0_is_below_the_token_1() -> None:
    evidence = locks(
        acquire(0, "a", token=1, called=0, returned=1),
        acquire(1, "x", token=0, called=2, returned=3),
        acquire(2, "y", token=1, called=4, returned=5),
        acquire(3, "a", token=1, called=10, returned=11),
    )

    regressions = [(each.accused.index, each.because[0].index) for each in token_regressions(evidence)]

    assert regressions == [(1, 0), (2, 0), (3, 2)]


def test_of_two_grants_with_one_token_the_later_answered_is_accused() -> None:
    later = acquire(0, "a", token=5, called=0, returned=1)
    earlier = acquire(1, "b", token=5, called=0, returned=0)

    (conflict,) = duplicate_tokens(locks(later, earlier))

    assert (conflict.accused, conflict.because) == (later, (earlier,))


def test_touching_grants_of_one_owner_may_be_one_hold() -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    release = replace(first, index=1, f="release", token=None, called=2, returned=4)
    again = acquire(2, "a", token=5, called=4, returned=6)
    later = acquire(2, "a", token=5, called=5, returned=6)

    assert list(token_regressions(locks(first, release, again))) == []
    assert [each.accused for each in token_regressions(locks(first, release, later))] == [later]


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_a_hold_that_was_ended_is_another_one_than_the_next(end: str) -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    ended = replace(first, index=1, f=end, token=None, called=2, returned=3)
    again = acquire(2, "a", token=5, called=4, returned=5)

    assert [each.accused for each in token_regressions(locks(first, ended, again))] == [again]


def test_a_hold_is_not_ended_by_a_release_that_failed_or_by_an_acquire() -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    refused = replace(first, index=1, f="release", token=None, called=2, returned=3, outcome=Outcome.FAIL)
    again = acquire(2, "a", token=5, called=4, returned=5)
    once_more = acquire(3, "a", token=5, called=7, returned=8)

    assert list(token_regressions(locks(first, refused, again, once_more))) == []


def test_a_grant_at_the_start_of_the_run_comes_before_the_next() -> None:
    first, again = acquire(0, "a", 5, 0, 0), acquire(2, "a", 5, 1, 2)
    other, touching = (acquire(1, "b", 5, 0, returned) for returned in (0, 1))

    (conflict,) = token_regressions(locks(first, other, again))
    assert (conflict.accused, conflict.because) == (again, (other,))
    assert list(token_regressions(locks(first, touching, again))) == []
