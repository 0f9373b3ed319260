"""The names of hazards, and what they say."""

from __future__ import annotations

import pytest

from checkers.vocabulary.hazards import CELLS, PLACE, Cell, End, Fate, Hit, Point, summary


def test_every_cell_is_read_from_its_name() -> None:
    assert [Cell.named(str(cell)) for cell in CELLS] == list(CELLS)
    assert len({str(cell) for cell in CELLS}) == len(CELLS) == len(PLACE) == 6 * 4 * 4 * 3 - 24


def test_a_short_name_is_of_a_holder_whose_messages_are_delivered() -> None:
    cell = Cell(Point.WRITE_SENT, End.SUPERSEDED, Hit.HOLDER, Fate.DELIVERED)

    assert Cell.named("write-sent/superseded") == Cell.named("write-sent/superseded/holder") == cell
    assert str(cell) == "write-sent/superseded/holder"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is no hazard: one looks like write-sent/superseded/holder"),
        ("write-sent", "is no hazard"),
        ("write-sent/superseded/holder/lost/x", "is no hazard"),
        ("writesent/superseded", "'writesent' is no part of a hazard; did you mean write-sent?"),
        ("write-sent/over", "'over' is no part of a hazard; known are before-expiry, expired,"),
        ("renewing/before-expiry/holder/delayed", "delayed means past the end of the lease"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_wrong(name: str, said: str) -> None:
    with pytest.raises(ValueError, match="hazard") as refused:
        Cell.named(name)

    assert said in str(refused.value)


def test_a_summary_names_the_first_missed_ones() -> None:
    names = [str(cell) for cell in CELLS[:5]]

    assert summary(24, [], 0) == "24 of 24 dangerous moments tried"
    assert summary(24, names[:1], 0) == f"23 of 24 dangerous moments tried, but not {names[0]}"
    assert (
        summary(24, names, 0)
        == f"19 of 24 dangerous moments tried, but not {', '.join(names[:3])} and 2 more"
    )


def test_a_summary_says_how_to_try_what_the_faults_leave_out() -> None:
    (name,) = [str(cell) for cell in CELLS[:1]]
    the_rest = 'hazards = "all" tries the rest'

    assert summary(1, [], 23) == f"1 of 24 dangerous moments tried; {the_rest}"
    assert summary(2, [name], 22) == f"1 of 24 dangerous moments tried, but not {name}; {the_rest}"
