"""Leases of an owner that acquires again: which operation is of which hold, at the boundaries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import Op, Outcome
from checkers.locks.early_grants import early_grants
from checkers.locks.leases import lease_of
from tests.support.grants import acquire, locks


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


def test_a_renew_between_two_acquires_is_of_the_one_before_it() -> None:
    holds = [acquire(0, "a", 1, 0, 1, ttl=10), acquire(1, "a", 2, 15, 16, ttl=10)]
    last = acquire(3, "a", 3, 40, 41, ttl=10)

    assert lease_of(holds[1], [*holds, renew(2, 20, 21, ttl=100), last]).end == 50


def test_a_renew_after_two_acquires_that_touch_may_be_of_either() -> None:
    first, second = acquire(0, "a", 1, 0, 5), acquire(1, "a", 2, 5, 6, ttl=10)

    assert lease_of(second, [first, second, renew(2, 7, 30, ttl=100)]).end == 15


@pytest.mark.parametrize(("returned", "end"), [(9, 19), (10, 10)])
def test_a_doubtful_renew_counts_if_it_returned_before_the_promise_ended(returned: int, end: int) -> None:
    first, second = acquire(0, "a", 1, 0, 1, ttl=10), acquire(2, "a", 2, 9, 11, ttl=10)

    assert lease_of(first, [first, renew(1, 2, returned, ttl=100), second]).end == end


@pytest.mark.parametrize(("returned", "end"), [(4, 105), (5, 8)])
def test_an_earlier_acquire_that_had_not_returned_may_shorten_a_lease(returned: int, end: int) -> None:
    first, second = acquire(0, "a", 1, 0, returned, ttl=3), acquire(1, "a", 2, 5, 6, ttl=100)

    assert lease_of(second, [first, second]).end == end


def test_later_acquires_before_the_end_of_a_lease_may_shorten_it() -> None:
    first, second = acquire(0, "a", 1, 0, 1, ttl=100), acquire(1, "a", 2, 5, 6, ttl=10)
    third = acquire(2, "a", 3, 200, 201, ttl=10)

    assert lease_of(first, [first, second, third]).end == 15


@pytest.mark.parametrize(("sent", "accused"), [(26, []), (27, [3])])
@pytest.mark.parametrize("unanswered", [0, 25], ids=["before it", "after it"])
def test_a_doubtful_renew_binds_what_was_sent_after_its_answer(
    sent: int, accused: list[int], unanswered: int
) -> None:
    unknown = replace(
        acquire(0, "a", 0, unanswered, 0, ttl=6), outcome=Outcome.INFO, returned=None, token=None
    )
    operations = [
        unknown,
        acquire(1, "a", 3, 19, 22, ttl=6),
        renew(2, 24, 26, ttl=6),
        replace(acquire(3, "b", 4, 25, 28), attempt=sent),
    ]

    found = early_grants(locks(*sorted(operations, key=lambda op: op.called)))

    assert [each.accused.index for each in found] == accused


def test_a_shorter_ttl_of_a_doubtful_renew_counts_from_its_call() -> None:
    first, second = acquire(0, "a", 6, 6, 7, ttl=3), acquire(2, "a", 0, 10, 15, ttl=3)

    assert lease_of(first, [first, renew(1, 7, 11, ttl=2), second]).end == 9
