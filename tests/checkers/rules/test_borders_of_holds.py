"""Double grants and double beliefs where one moment, one fault or one owner decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import FaultEvent, Op
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.double_grants import double_grants, under_faults
from tests.support.brute_force import operation
from tests.support.lock_requests import acquire, fault, locks

FIRST, SECOND = (
    replace(acquire(0, "a", 0, called=0, returned=5), token=None),
    replace(acquire(1, "b", 0, called=10, returned=16), token=None),
)


def held_by_two(*operations: Op, faults: list[FaultEvent] | None = None) -> list[tuple[int, int]]:
    """The later grant of each pair, and the other one."""
    evidence = locks(*operations)
    history = replace(evidence.history, faults=tuple(faults or []))
    return [
        (each.accused.index, each.because[0].index)
        for each in double_grants(replace(evidence, history=history))
    ]


@pytest.mark.parametrize(("ended", "accused"), [(10, []), (11, [1])])
def test_a_belief_that_ends_as_the_grant_returns_never_begins(ended: int, accused: list[int]) -> None:
    first, second = acquire(0, "a", 1, called=1, returned=2), acquire(1, "b", 2, called=3, returned=10)
    given_up = replace(second, index=2, f="revoke", called=ended, returned=20)

    assert [each.accused.index for each in double_beliefs(locks(first, second, given_up))] == accused


def test_a_fault_explains_only_the_double_grants_that_it_touches() -> None:
    others = (replace(each, index=2 + each.index, resource="r1", called=12) for each in (FIRST, SECOND))
    evidence = locks(FIRST, SECOND, *(replace(each, returned=16) for each in others))
    history = replace(evidence.history, faults=tuple(fault("client:7", 8, 9)))

    assert len(list(double_grants(evidence))) == 2
    assert under_faults(replace(evidence, history=history)) == 1
    assert under_faults(evidence) == 0


@pytest.mark.parametrize(("healed", "found"), [(10, []), (9, [(1, 0)])])
def test_a_fault_that_heals_as_the_later_grant_is_asked_for_explains_it(
    healed: int, found: list[tuple[int, int]]
) -> None:
    other = replace(FIRST, called=11, returned=12)

    assert held_by_two(other, SECOND, faults=fault("client:7", 5, healed)) == found


def test_an_owner_that_acquires_again_is_not_two_clients() -> None:
    assert held_by_two(FIRST, replace(SECOND, owner="a")) == []


def test_two_promised_holds_are_no_double_grant_beyond_a_third() -> None:
    third = replace(acquire(9, "c", 0, called=0, returned=1), token=None)
    given_back = replace(third, index=8, f="release", called=2, returned=3)
    promised = [replace(each, ttl=90, called=4 + each.called, returned=20) for each in (FIRST, SECOND)]

    assert held_by_two(third, given_back, *promised) == []
    assert held_by_two(third, *promised) == [(0, 9), (1, 9)]


@pytest.mark.parametrize(("learned", "found"), [(16, []), (17, [(1, 0)])])
@pytest.mark.parametrize("of", ["owner", "process"])
def test_a_lost_answer_counts_from_when_the_client_gave_up_waiting(
    learned: int, of: str, found: list[tuple[int, int]]
) -> None:
    f, process, owner = ("write", FIRST.process, None) if of == "process" else ("renew", 77, "a")
    lost = operation(f, process, 8, learned, "info", index=2, owner=owner, value="x")

    assert held_by_two(FIRST, lost, SECOND) == found


def test_a_lock_may_be_granted_twice_at_time_0() -> None:
    early = replace(FIRST, returned=0)

    assert held_by_two(early, replace(SECOND, called=0, returned=0)) == [(1, 0)]
