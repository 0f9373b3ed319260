"""Double beliefs, at the boundaries of a hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import Outcome
from checkers.rules.double_beliefs import double_beliefs
from tests.support.grants import acquire, locks


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_belief_ends_with_the_call_of_the_release(end: str) -> None:
    grant = acquire(0, "a", token=1, called=0, returned=1)
    given_back = replace(grant, index=1, f=end, token=None, called=5, returned=9)
    during = acquire(2, "b", token=2, called=2, returned=4)
    after = acquire(2, "b", token=2, called=2, returned=6)

    assert [each.accused for each in double_beliefs(locks(grant, given_back, during))] == [during]
    assert list(double_beliefs(locks(grant, given_back, after))) == []


def test_of_two_beliefs_the_later_one_is_reported_with_the_other() -> None:
    one = acquire(0, "a", token=1, called=0, returned=1)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(other, index=2, f="release", token=None, called=2, returned=3)

    (conflict,) = double_beliefs(locks(one, other, release))

    assert (conflict.accused, conflict.because) == (one, (other,))


def test_belief_lasts_until_a_release_at_time_1() -> None:
    one = acquire(0, "a", token=1, called=0, returned=0)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(one, index=2, f="release", token=None, called=1, returned=3)

    assert [each.accused for each in double_beliefs(locks(one, other, release))] == [other]


def test_belief_may_end_at_time_0() -> None:
    grant = acquire(0, "a", token=1, called=0, returned=0)
    lost = replace(grant, index=1, f="renew", token=None, outcome=Outcome.FAIL)
    other = acquire(2, "b", token=2, called=0, returned=0)

    assert list(double_beliefs(locks(grant, lost, other))) == []


def test_a_belief_that_was_over_before_the_grant_returned_is_none() -> None:
    first = acquire(0, "a", 1, called=1, returned=2)
    second = acquire(1, "b", 2, called=3, returned=10)
    given_up = replace(second, index=2, f="revoke", called=5, returned=6)

    assert list(double_beliefs(locks(first, second, given_up))) == []
