"""Leases of an owner that acquires again: which operation is of which hold, at the boundaries."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from checkers.facts.leases import lease_of, leases_of
from checkers.history.records import Op, Outcome
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.early_grants import early_grants
from tests.support.lock_requests import acquire, locks


def renew(index: int, called: int, returned: int, ttl: int) -> Op:
    return replace(acquire(index, "a", 0, called, returned, ttl), f="renew", token=None)


@pytest.mark.parametrize("returned", [15, 20])
@pytest.mark.parametrize("more", [[], [acquire(3, "a", 3, 40, 41, ttl=10)]])
def test_a_renew_that_returned_at_the_next_acquire_or_later_may_be_of_that(
    returned: int, more: list[Op]
) -> None:
    first, second = acquire(0, "a", 1, 0, 1, ttl=10), acquire(2, "a", 2, 15, 16, ttl=10)

    assert lease_of(first, [first, renew(1, 2, returned, ttl=100), second, *more]).end == 10
    assert lease_of(first, [first, renew(1, 2, 14, ttl=100), second, *more]).end == 25


def test_a_renew_of_the_next_hold_hides_none_before_it() -> None:
    first, second = acquire(0, "a", 1, 0, 1, ttl=10), acquire(2, "a", 2, 15, 16, ttl=10)

    assert lease_of(first, [first, renew(1, 2, 3, ttl=10), second, renew(3, 20, 21, ttl=10)]).end == 12


@pytest.mark.parametrize(("called", "end"), [(4, -math.inf), (5, 105)])
def test_a_renew_called_before_the_acquire_is_of_the_hold_before(called: int, end: float) -> None:
    first, second = acquire(0, "a", 1, 0, 1), acquire(2, "a", 2, 5, 6)

    assert lease_of(second, [first, renew(1, called, 8, ttl=100), second]).end == end


def test_of_two_renews_the_one_that_was_called_last_counts() -> None:
    grant, slow, quick = acquire(0, "a", 1, 0, 1, ttl=10), renew(1, 2, 30, ttl=10), renew(2, 20, 25, ttl=10)

    assert lease_of(grant, [grant, slow, quick]).end == 30


def test_a_renew_between_two_acquires_is_of_the_one_before_it() -> None:
    holds = [acquire(0, "a", 1, 0, 1, ttl=10), acquire(1, "a", 2, 15, 16, ttl=10)]
    last = acquire(3, "a", 3, 40, 41, ttl=10)

    assert lease_of(holds[1], [*holds, renew(2, 20, 21, ttl=100), last]).end == 50


def test_a_renew_after_two_acquires_that_touch_may_be_of_either() -> None:
    first, second = acquire(0, "a", 1, 0, 5), acquire(1, "a", 2, 5, 6, ttl=10)

    assert lease_of(second, [first, second, renew(2, 7, 30, ttl=100)]).end == 15


@pytest.mark.parametrize(("returned", "end"), [(4, 105), (5, 8)])
def test_an_earlier_acquire_that_had_not_returned_may_shorten_a_lease(returned: int, end: int) -> None:
    first, second = acquire(0, "a", 1, 0, returned, ttl=3), acquire(1, "a", 2, 5, 6, ttl=100)

    assert lease_of(second, [first, second]).end == end


def test_later_acquires_before_the_end_of_a_lease_may_shorten_it() -> None:
    first, second = acquire(0, "a", 1, 0, 1, ttl=100), acquire(1, "a", 2, 5, 6, ttl=10)
    third = acquire(2, "a", 3, 200, 201, ttl=10)

    assert lease_of(first, [first, second, third]).end == 15


def test_a_shorter_ttl_of_a_renew_that_may_be_of_another_hold_counts() -> None:
    first, second = acquire(0, "a", 6, 6, 7, ttl=3), acquire(2, "a", 0, 10, 15, ttl=3)

    assert lease_of(first, [first, renew(1, 7, 11, ttl=2), second]).end == 9
    assert lease_of(first, [first, renew(1, 7, 11, ttl=1), second]).end == 8


@pytest.mark.parametrize(("token", "end"), [(1, 120), (2, 10), (None, 10)])
def test_an_acquire_again_with_the_same_token_is_the_same_hold(token: int | None, end: int) -> None:
    first = acquire(0, "a", 1, 0, 1, ttl=10)
    again = replace(acquire(1, "a", 0, 5, 6, ttl=100), token=token)

    assert lease_of(first, [first, again, renew(2, 20, 21, ttl=100)]).end == end


@pytest.mark.parametrize(("outcome", "ends"), [(Outcome.OK, [7, 109]), (Outcome.FAIL, [7, 7])])
def test_a_release_that_ended_ok_in_between_makes_another_hold(outcome: Outcome, ends: list[int]) -> None:
    first, again = acquire(0, "a", 1, 0, 1, ttl=10), acquire(2, "a", 1, 9, 10, ttl=100)
    release = replace(
        first, index=1, f="release", token=None, ttl=None, called=7, returned=8, outcome=outcome
    )

    assert [lease.end for lease in leases_of([first, release, again])] == ends


@pytest.mark.parametrize(("asked", "end"), [(100, 115), (None, 115), (4, 19)])
def test_an_unanswered_renewal_counts_with_the_ttl_that_it_asked_for(asked: int | None, end: int) -> None:
    grant = acquire(0, "a", 1, 0, 1, ttl=100)
    unanswered = replace(renew(1, 2, 0, ttl=0), outcome=Outcome.INFO, returned=None, ttl=asked)

    assert lease_of(grant, [grant, unanswered, renew(2, 15, 16, ttl=100)]).end == end


@pytest.mark.parametrize("f", ["acquire", "renew"])
def test_what_failed_does_not_shorten_a_lease(f: str) -> None:
    grant = acquire(0, "a", 1, 0, 1, ttl=100)
    failed = replace(renew(1, 1, 20, ttl=3), f=f, outcome=Outcome.FAIL)

    assert lease_of(grant, [grant, failed]).end == 100


def test_nothing_renews_a_hold_that_was_asked_for_during_another_acquire() -> None:
    unanswered = replace(acquire(0, "a", 0, 0, 0), outcome=Outcome.INFO, returned=None, token=None)
    grant = acquire(1, "a", 1, 5, 6, ttl=10)

    assert lease_of(grant, [unanswered, grant, renew(2, 7, 8, ttl=100)]).end == 15


@pytest.mark.parametrize(("second", "found"), [(4, 0), (5, 1)])
def test_a_release_that_returned_at_the_acquire_may_be_of_either_hold(second: int, found: int) -> None:
    first, again = acquire(0, "a", 1, 0, 1, ttl=100), acquire(2, "a", 2, second, 6, ttl=100)
    release = replace(first, index=1, f="release", token=None, ttl=None, called=2, returned=4)
    evidence = locks(first, release, again, acquire(3, "b", 3, 7, 8, ttl=100))

    assert len(list(early_grants(evidence))) == len(list(double_beliefs(evidence))) == found


def test_a_session_that_was_renewed_before_the_acquire_is_promised_too() -> None:
    session, other = acquire(1, "a", 1, 5, 6), acquire(2, "b", 2, 6, 7)
    leased = acquire(1, "a", 1, 2, 5, ttl=8)

    assert [each.accused for each in early_grants(locks(renew(0, 1, 2, ttl=80), session, other))] == [other]
    assert not list(early_grants(locks(renew(0, 1, 4, ttl=1), leased, other)))


@pytest.mark.parametrize(("tokens", "called"), [([None] * 5, 5), ([1, 2, 3, 4, 5], 4)])
def test_behind_a_lease_of_its_own_the_longest_other_one_counts(
    tokens: list[int | None], called: int
) -> None:
    ends = {"a": 50, "c": 12, "d": 30}
    others = [acquire(n, owner, 0, n, 4, ttl=ends[owner]) for n, owner in enumerate(ends)]
    own, later = acquire(3, "b", 0, 3, 4, ttl=100), acquire(4, "b", 0, called, 20)
    grants = [replace(each, token=token) for each, token in zip([*others, own, later], tokens, strict=True)]

    found = [each for each in early_grants(locks(*grants)) if each.accused.index == 4]

    assert [each.because[0].owner for each in found] == ["a"]
