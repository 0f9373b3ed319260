"""What some races show together."""

from __future__ import annotations

import pytest

from harness.atlas.cells import Cell, Verdict
from harness.atlas.race import Attempt, Mode, Operation, Race


def race(*statuses: int | None, read: int | None = None) -> Race:
    attempts = tuple(
        Attempt(client=client, method="PUT", called=0, returned=1, status=status)
        for client, status in enumerate(statuses)
    )
    seen = Attempt(client=2, method="GET", called=2, returned=3, status=read) if read else None
    return Race(key="k", attempts=attempts, read=seen)


def cell(*races: Race, operation: Operation = Operation.CREATE) -> Cell:
    return Cell(operation=operation, mode=Mode.HELD, races=races)


@pytest.mark.parametrize(
    ("statuses", "winners", "is_decided"),
    [
        ((200, 412), 1, True),
        ((412, 200, 409, 404), 1, True),
        ((200, 200), 2, True),
        ((200, 204, None), 2, True),
        ((200, None), 1, False),
        ((200, 500), 1, False),
        ((200, 403), 1, False),
        ((412, 412), 0, False),
        ((None, None), 0, False),
        ((), 0, False),
    ],
)
def test_a_race_is_decided_if_no_other_can_have_won(
    statuses: tuple[int | None, ...], winners: int, is_decided: bool
) -> None:
    assert (race(*statuses).winners, race(*statuses).is_decided) == (winners, is_decided)


@pytest.mark.parametrize(
    ("races", "verdict"),
    [
        ([race(200, 412)] * 3, Verdict.ATOMIC),
        ([race(200, 412)] * 99 + [race(200, 200)], Verdict.NOT_ATOMIC),
        ([race(None, 412)] * 99 + [race(200, 200)], Verdict.NOT_ATOMIC),
        ([race(200, 412)] * 9 + [race(200, None)], Verdict.ATOMIC),
        ([race(200, 412)] * 8 + [race(200, None)] * 2, Verdict.UNKNOWN),
        ([race(412, 412)] * 3, Verdict.UNKNOWN),
        ([race(503, 503)] * 3, Verdict.UNKNOWN),
        ([race()] * 3, Verdict.UNKNOWN),
        ([], Verdict.UNKNOWN),
    ],
)
def test_one_race_with_two_winners_is_enough(races: list[Race], verdict: Verdict) -> None:
    assert cell(*races).verdict is verdict


def test_an_ignored_condition_was_not_raced() -> None:
    ignored = Cell(operation=Operation.CREATE, is_ignored=True, reason="a second PUT was accepted")

    assert ignored.verdict is Verdict.IGNORED
    assert ignored.sentence() == "ignored: a second PUT was accepted"


@pytest.mark.parametrize(
    ("raced", "gone"),
    [
        (race(200, 204, read=404), 1),
        (race(200, 204, read=200), 0),
        (race(200, 204, read=500), 0),
        (race(404, 204, read=404), 0),
        (race(200, None, read=404), 0),
    ],
)
def test_an_object_is_lost_only_if_its_put_and_a_delete_succeeded(raced: Race, gone: int) -> None:
    assert cell(raced, operation=Operation.DELETE).gone == gone


def test_the_smallest_race_has_the_fewest_winners() -> None:
    two, three = race(412, 200, 200), race(200, 200, 200)

    assert cell(race(200, 412, 412), three, two).smallest is two


def test_a_race_that_lost_an_object_is_shown_rather_than_another() -> None:
    lost = race(200, 204, read=404)

    assert cell(race(200, 204, read=200), lost, operation=Operation.DELETE).smallest is lost


def test_without_two_winners_no_race_is_shown() -> None:
    assert cell(race(200, 412)).smallest is None


def test_a_cell_counts_winners_and_answers() -> None:
    counted = cell(race(200, 200, 412), race(200, None, 503), race(200, 412, 412))

    assert counted.document() == {
        "operation": "create",
        "mode": "held",
        "verdict": "not atomic",
        "keys": 3,
        "keys_with_two_winners": 1,
        "most_winners": 2,
        "undecided": 1,
        "acknowledged_and_gone": 0,
        "answers": {"200": 4, "412": 3, "503": 1, "no answer": 1},
        "reason": "",
    }
    assert counted.sentence() == (
        "not atomic: 1 of 3 keys had more than one winner, up to 2; 1 had none, or too few answers to know"
        " (200 ×4, 412 ×3, 503 ×1, no answer ×1)"
    )
