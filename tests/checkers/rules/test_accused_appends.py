"""Which append dropped an element, and which reads and appends drop nothing."""

from __future__ import annotations

from dataclasses import replace

from checkers.history.records import Op, Outcome
from tests.support.appends import append, judged, read
from tests.support.brute_force import operation


def test_two_appends_to_unknown_lists_need_not_have_read_the_same_one() -> None:
    assert judged(read(0, 0, ""), append(1, 4, 5, None, "a"), append(2, 6, 6, None, "b")) == []


def test_a_read_without_an_answer_lacks_nothing() -> None:
    unanswered = replace(read(4, 5, ""), outcome=Outcome.INFO, returned=None)

    assert judged(append(0, 1, 5, "", "a"), unanswered) == []


def of_hold(owner: str, asked: int, one: Op) -> list[Op]:
    """An append by an owner whose lock gives no tokens, and the grant to that owner."""
    granted = operation("acquire", 0, asked, asked + 1, owner=owner)
    return [granted, replace(one, owner=owner)]


def test_without_tokens_the_hold_that_was_asked_for_first_came_first() -> None:
    first, second = append(12, 13, None, "x", "a"), append(11, 14, None, "x", "b")

    assert judged(*of_hold("A", 0, first), *of_hold("B", 5, second)) == [("b", "a", True)]


def test_tokens_do_not_order_a_hold_that_has_none() -> None:
    late = append(1, 4, None, "", "a")

    assert judged(*of_hold("A", 0, late), append(2, 6, 6, "", "b"), read(7, 8, "b", 6)) == [("b", "a", False)]


def test_an_append_that_left_something_out_built_on_all_that_it_had_read() -> None:
    lost, late = append(1, 5, 5, "x", "a"), append(2, 3, 6, "x", "b")
    careless = replace(append(4, 8, 7, "xb", "c"), value=("c",))

    assert judged(lost, late, careless, read(9, 10, "c", 7)) == [("c", "b", False), ("b", "a", True)]


def test_an_append_that_returned_before_the_lost_one_did_not_drop_it() -> None:
    first, second = append(0, 1, None, "", "a"), append(2, 3, None, None, "b")

    assert judged(first, second, read(4, 5, "a")) == [("read", "b", False)]


def test_a_holder_without_fences_may_drop_its_own_late_append() -> None:
    late, again = append(1, 2, 6, "", "a", "info"), append(3, 9, 6, "", "b")

    assert judged(late, again, read(5, 6, "a", 6), read(10, 11, "b", 6)) == [("b", "a", True)]
