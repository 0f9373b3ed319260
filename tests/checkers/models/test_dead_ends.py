"""Which unexplained return the search reports, and with which configurations."""

from __future__ import annotations

from checkers.models.model_verdict import DEAD_ENDS_SHOWN, Configuration, DeadEnd
from checkers.models.objects import Counter, Register
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.linearizations import op, overlapping_adds


def test_the_unexplained_return_is_named_with_the_longest_prefix() -> None:
    history = (
        op("write", 0, 1, 1),
        op("write", 2, 9, 2),
        op("write", 2, None, 3),
        op("read", 3, 4, answer=2),
        op("read", 5, 6, answer=1),
    )

    verdict = search(history, Register())

    assert verdict.validity is Validity.INVALID
    assert verdict.conflicts == (
        DeadEnd(operation=4, configurations=(Configuration(state=2, ahead=(1,), presumed=()),)),
    )


def test_infos_that_were_presumed_are_named() -> None:
    history = (
        op("write", 0, None, 7),
        op("read", 1, 2, answer=7),
        op("read", 3, 4, answer=None),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end == DeadEnd(operation=2, configurations=(Configuration(state=7, ahead=(), presumed=(0,)),))


def test_few_of_many_configurations_are_shown_the_simplest_first() -> None:
    writes = tuple(op("write", 0, 100 + i, i) for i in range(6))
    history = (*writes, op("write", 0, 50, 1000), op("read", 60, 61, answer=-1))

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end.operation == 7
    assert len(dead_end.configurations) == DEAD_ENDS_SHOWN
    assert dead_end.configurations[0] == Configuration(state=1000, ahead=(), presumed=())


def test_of_several_infos_those_that_were_presumed_are_named() -> None:
    history = (
        op("write", 0, None, 6),
        op("write", 0, None, 7),
        op("read", 1, 2, answer=7),
        op("read", 3, 4, answer=8),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end.configurations == (Configuration(state=7, ahead=(), presumed=(1,)),)


def test_configurations_are_shown_in_the_same_order_each_time() -> None:
    history = (
        op("write", 0, 5, "b"),
        op("write", 0, 6, 2),
        op("write", 0, 6, "a"),
        op("read", 7, 8, answer=9),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert [each.state for each in dead_end.configurations] == ["a", "b", 2]


def test_a_read_that_returned_with_the_unexplained_one_is_ahead_of_it() -> None:
    history = (op("write", 0, 1, 1), op("read", 2, 9, answer=1), op("read", 3, 9, answer=5))

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end == DeadEnd(operation=2, configurations=(Configuration(state=1, ahead=(1,), presumed=()),))


def test_changes_that_nothing_has_forced_yet_are_not_ahead() -> None:
    history = (*overlapping_adds(6, None), op("add", 0, 50, 1000), op("read", 60, 61, answer=-1))

    (dead_end,) = search(history, Counter()).conflicts

    assert dead_end == DeadEnd(
        operation=7, configurations=(Configuration(state=1000, ahead=(), presumed=()),)
    )


def test_a_read_that_is_wrong_by_itself_needs_no_configurations() -> None:
    adds = tuple(op("add", 0, 100 + i, i) for i in range(60))
    history = (*adds, op("read", 1, 2, answer=900), op("read", 3, 4, answer=-1))

    assert search(history, Counter()).conflicts == (DeadEnd(operation=61, configurations=()),)
