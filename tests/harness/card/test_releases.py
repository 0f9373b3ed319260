"""The releases of locks that tell something: of lost ones, of expired ones, and after faults."""

from dataclasses import replace

import pytest

from checkers.history.records import Op, Outcome
from harness.card.releases import after_moment, of_expired_locks, of_lost_locks
from tests.support.owned_operations import op


def refused_and_ok(history: list[Op]) -> tuple[int, int]:
    answers = [each.release.outcome for each in of_lost_locks(history)]
    return answers.count(Outcome.FAIL), answers.count(Outcome.OK)


@pytest.mark.parametrize(
    ("outcome", "counted"), [(Outcome.FAIL, (1, 0)), (Outcome.OK, (0, 1)), (Outcome.INFO, (0, 0))]
)
def test_a_refused_release_shows_that_the_lock_was_lost(outcome: Outcome, counted: tuple[int, int]) -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("acquire", "b", 1, 5),
        op("release", "a", 6, 7, outcome),
        op("release", "b", 8, 9),
    ]

    assert refused_and_ok(history) == counted


def test_a_holder_that_nobody_followed_has_lost_nothing() -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("release", "a", 3, 4, Outcome.FAIL),
        op("acquire", "b", 5, 6),
        op("release", "c", 7, 8, Outcome.FAIL),
    ]

    assert refused_and_ok(history) == (0, 0)


@pytest.mark.parametrize(
    ("acquires", "counted"),
    [
        ([{"attempt": 1, "token": 2}, {"attempt": 3, "token": 1}], (0, 1)),  # after the first had returned
        ([{"attempt": 1, "token": 1}, {"attempt": 2, "token": 2}], (0, 0)),  # neither is certainly later
        ([{"token": 1}, {"token": 2}], (0, 1)),
        ([{"token": 2}, {"token": 1}], (0, 0)),  # the second was paused before its acquire returned
    ],
)
def test_only_a_grant_that_surely_came_later_takes_the_lock_away(
    acquires: list[dict[str, int]], counted: tuple[int, int]
) -> None:
    first, second = acquires
    history = [
        replace(op("acquire", "a", 0, 2), **first),
        replace(op("acquire", "b", 1, 5), **second),
        op("release", "a", 6, 7),
    ]

    assert refused_and_ok(history) == counted


@pytest.mark.parametrize(("moment", "found"), [(2, []), (3, ["a"]), (8, ["a"]), (9, [])])
def test_releases_after_a_fault_are_of_locks_held_at_its_beginning(moment: int, found: list[str]) -> None:
    history = [op("acquire", "a", 1, 2), op("release", "a", 9, 10), op("acquire", "b", 11, 12)]

    assert [release.owner for release in after_moment(history, moment)] == found


@pytest.mark.parametrize(
    ("lease", "counts"),
    [({"ttl": None}, True), ({"ttl": 8}, True), ({"ttl": 7}, False), ({"ttl": 7, "attempt": 2}, True)],
)
def test_a_release_after_the_end_of_its_lease_shows_nothing(lease: dict[str, int], counts: bool) -> None:
    history = [replace(op("acquire", "a", 1, 3), **lease), op("release", "a", 9, 10, Outcome.FAIL)]

    assert bool([*after_moment(history, 5)]) is counts


def test_a_lost_release_names_the_grants_that_show_it() -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("acquire", "b", 3, 4),
        op("release", "b", 5, 6),
        op("release", "a", 7, 8),
    ]

    (lost,) = of_lost_locks(history)

    assert (lost.grant, lost.later, lost.release) == (history[0], history[1], history[3])


EXPIRED = [replace(op("acquire", "a", 1, 2), ttl=5), op("release", "a", 9, 10)]


@pytest.mark.parametrize(
    ("others", "counts"),
    [
        ([], True),
        ([replace(op("acquire", "b", 3, 8), resource="r1")], True),
        ([op("acquire", "b", 3, 8, Outcome.FAIL)], True),
        ([op("acquire", "b", 11, 12)], True),
        ([op("acquire", "b", 10, 12)], False),  # it may have been granted before
        ([op("acquire", "b", 3, 8, Outcome.INFO)], False),
        ([op("renew", "a", 3, 4)], False),
    ],
)
def test_an_expired_lock_is_one_that_nothing_renewed_and_nobody_took(others: list[Op], counts: bool) -> None:
    history = [*EXPIRED, *others]

    assert list(of_expired_locks(history)) == EXPIRED[1:] * counts


def test_a_lock_has_not_expired_while_its_lease_lasts() -> None:
    history = [EXPIRED[0], op("release", "a", 6, 7)]

    assert list(of_expired_locks(history)) == []
