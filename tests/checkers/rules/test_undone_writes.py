"""Which rejections an unanswered write explains that a restart of the storage has undone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.cluster_columns import zones_of
from checkers.facts.evidence import gather
from checkers.facts.held_values import StorageFacts
from checkers.history.records import Op
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.registers import observed
from checkers.rules.rejections import NO_CAUSE
from checkers.rules.undone_writes import unless_undone
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.lock_requests import fault

UNANSWERED, REFUSED = write(0, 9, 3, 0, "info"), write(1, 5, 4, 7, "stale")


def unexplained(*operations: Op, restarts: list[tuple[int, int]], strict: bool = True) -> list[int]:
    """The places of the rejections that no restart explains, if each is accused of having had no cause."""
    faults = tuple(
        event for began, healed in restarts for event in fault("storage", began, healed, "restart")
    )
    evidence = gather(replace(history_of(renumbered(operations), strict=strict), faults=faults))
    accused = [NO_CAUSE.conflict(each) for each in evidence.history.operations if each.error == "stale"]
    left = unless_undone(zones_of(evidence), StorageFacts.of(evidence).restarts, accused)
    return [each.accused.index for each in left]


@pytest.mark.parametrize(
    ("restarts", "left"),
    [
        ([(1, 2)], [1]),
        ([(1, 2), (6, 8)], []),
        ([(1, 3), (6, 8)], []),
        ([(1, 2), (7, 8)], []),
        ([(1, 2), (8, 8)], []),
        ([(1, 4)], []),
    ],
)
def test_a_restart_explains_it_that_was_not_over_when_it_was_called(
    restarts: list[tuple[int, int]], left: list[int]
) -> None:
    assert unexplained(UNANSWERED, REFUSED, restarts=restarts) == left


def test_only_an_unanswered_write_can_have_been_undone() -> None:
    refused = replace(write(0, 9, 1, 2, "stale"), process=9)

    assert unexplained(refused, REFUSED, restarts=[(20, 21)]) == [0, 1]


@pytest.mark.parametrize(
    ("token", "strict", "left"), [(6, False, []), (5, False, [1]), (7, True, []), (6, True, [1])]
)
def test_a_write_accepted_before_the_restart_met_no_mark_that_refuses_it(
    token: int, *, strict: bool, left: list[int]
) -> None:
    unanswered, accepted = replace(UNANSWERED, token=6), write(2, token, 10, 11)

    assert unexplained(unanswered, REFUSED, accepted, restarts=[(20, 21)], strict=strict) == left


@pytest.mark.parametrize("restart", [0, 20])
@pytest.mark.parametrize("called", [5, 8])
def test_no_restart_explains_it_if_a_write_sent_later_was_read_before(called: int, restart: int) -> None:
    lower, its_read = write(2, 6, 9, 0, "info"), read(3, ("v2", 6), called, 12)
    operations = renumbered([UNANSWERED, REFUSED, lower, its_read])
    faults = tuple(fault("storage", restart, restart, "restart"))

    (found,) = observed(gather(replace(history_of(operations), faults=faults)))

    assert (found.breach, found.because[0].error) == (FALSE_OR_STALE, "stale")


@pytest.mark.parametrize("returned", [19, 20])
def test_a_read_that_was_not_over_before_the_restart_contradicts_nothing(returned: int) -> None:
    lower, its_read = write(2, 6, 9, 0, "info"), read(3, ("v2", 6), 5, returned)

    assert unexplained(UNANSWERED, REFUSED, lower, its_read, restarts=[(20, 21)]) == [1] * (returned < 20)


@pytest.mark.parametrize(("token", "left"), [(None, []), (6, [1])])
def test_a_write_without_a_token_contradicts_no_rejection(token: int | None, left: list[int]) -> None:
    written, its_read = replace(write(2, 6, 9, 10), token=token), read(3, ("v2", token), 11, 12)

    assert unexplained(UNANSWERED, REFUSED, written, its_read, restarts=[(20, 21)]) == left


@pytest.mark.parametrize(("called", "left"), [(7, []), (8, [1])])
def test_a_read_called_after_the_rejection_shows_what_the_mark_was_then(called: int, left: list[int]) -> None:
    lower, its_read = write(2, 6, 5, 0, "info"), read(3, ("v2", 6), called, 12)

    assert unexplained(UNANSWERED, REFUSED, lower, its_read, restarts=[(20, 21)]) == left
