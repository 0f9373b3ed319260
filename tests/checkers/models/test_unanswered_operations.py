"""The search with unanswered operations: each took effect at any later moment, or never."""

from __future__ import annotations

import pytest

from checkers.models.objects import (
    CasRegister,
    Register,
)
from tests.support.model_operations import is_right, op


def test_any_later_read_can_return_the_value_of_an_unanswered_write() -> None:
    history = (op("write", 0, None, 1), op("write", 1, 2, 2), op("read", 3, 4, answer=2))

    assert is_right((*history, op("read", 5, 6, answer=1)), Register())
    assert not is_right((*history, op("read", 5, 6, answer=1), op("read", 7, 8, answer=2)), Register())


def test_an_unanswered_write_takes_effect_once() -> None:
    history = (
        op("write", 0, None, 1),
        op("read", 1, 2, answer=1),
        op("write", 3, 4, 2),
        op("read", 5, 6, answer=1),
    )

    assert not is_right(history, Register())
    assert is_right((op("write", 0, None, 1), *history), Register())


def test_an_unanswered_write_cannot_be_seen_before_it_is_called() -> None:
    assert not is_right((op("read", 0, 1, answer=1), op("write", 2, None, 1)), Register())


def test_an_unanswered_read_says_nothing() -> None:
    assert is_right((op("read", 0), op("write", 1, 2, 1), op("read", 3, 4, answer=1)), Register())


def test_a_cas_that_changes_nothing_needs_the_unanswered_write_before_it() -> None:
    history = (op("write", 0, None, 1), op("cas", 1, 2, (1, 1)))

    assert is_right(history, CasRegister(0))
    assert not is_right(history[1:], CasRegister(0))


def test_an_unanswered_cas_that_changes_nothing_explains_nothing() -> None:
    history = (op("cas", 0, None, (1, 1)), op("read", 1, 2, answer=1))

    assert not is_right(history, CasRegister(0))


def test_unanswered_compare_and_sets_take_effect_one_after_another() -> None:
    chain = (op("cas", 0, None, (0, 1)), op("cas", 0, None, (2, 3)), op("cas", 0, None, (1, 2)))

    assert is_right((*chain, op("read", 5, 6, answer=3)), CasRegister(0))
    assert not is_right((*chain[:2], op("read", 5, 6, answer=3)), CasRegister(0))


def test_a_value_read_from_an_unanswered_write_outlasts_later_writes() -> None:
    history = (
        op("write", 0, None, 1),
        op("read", 1, 6, answer=1),
        op("write", 2, 3, 2),
        op("read", 4, 5, answer=2),
    )

    assert is_right((*history, op("read", 7, 8, answer=2)), Register())
    assert not is_right((*history, op("read", 7, 8, answer=2), op("read", 9, 10, answer=1)), Register())


@pytest.mark.parametrize("before", [(), ("a",), ("b",), ("a", "b")], ids=str)
def test_each_way_to_a_state_that_no_other_covers_is_kept(
    before: tuple[str, ...],
) -> None:
    """Unanswered writes of a and b: some were seen before c was written, the others are seen after it."""
    after = [value for value in "ab" if value not in before]
    history = [
        *(op("write", 0, None, value) for value in "ab"),
        *(op("read", 1, 7 if value in before else 90, answer=value) for value in "ab"),
        op("write", 2, 3, "c"),
        op("read", 4, 5, answer="c"),
        op("read", 8, 9, answer="c"),
    ]
    for place, value in enumerate(after):
        history.append(op("read", 20 + 10 * place, 21 + 10 * place, answer=value))

    again = op("read", 80, 81, answer=after[-1] if after else "c")
    lost = op("read", 82, 83, answer=before[-1]) if before else op("read", 82, 83, answer="c")

    assert is_right((*history, again), Register())
    assert not is_right((*history, again, lost), Register())
