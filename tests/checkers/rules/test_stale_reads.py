"""Stale reads, and values of one register or one token that contradict each other: boundary by boundary."""

from __future__ import annotations

from dataclasses import replace

from checkers.facts.evidence import gather
from checkers.history.records import Op
from checkers.rules.registers import observed
from checkers.rules.stale_reads import WENT_BACK
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.conflicts import Summary, summary_of


def bare(op: Op) -> Op:
    return replace(op, token=None)


def of_first_register(*operations: Op, strict: bool = True, fenced: bool = True) -> list[Summary]:
    """What is found next to another register that is certainly wrong."""
    newer, older = (replace(op, resource="r1") for op in (write(90, 2, 90, 91), write(91, 1, 92, 93)))
    history = history_of(renumbered([*operations, newer, older]), strict=strict, fenced=fenced)
    *found, _ = observed(gather(history))
    assert {each.accused.resource for each in found} <= {"r0"}
    return [summary_of(each) for each in found]


def accused(*operations: Op, strict: bool = True, fenced: bool = True) -> list[tuple[str, int]]:
    found = of_first_register(*operations, strict=strict, fenced=fenced)
    return [(anomaly, index) for anomaly, _, index, _ in found]


def test_a_value_without_a_token_is_older_than_none() -> None:
    newer, without, later = write(0, 1, 0, 1), bare(write(1, 0, 2, 3)), bare(read(2, ("v1", 0), 4, 5))

    assert of_first_register(newer, without, later) == []


def test_a_value_without_a_token_comes_back_after_a_fenced_write() -> None:
    without, newer = bare(write(0, 0, 0, 1)), write(1, 1, 2, 4)
    during, after = bare(read(2, ("v0", 0), 4, 5)), bare(read(3, ("v0", 0), 5, 6))

    assert of_first_register(without, newer, during) == []
    assert accused(without, newer, during, after) == [("stale-read", 3)]


def test_a_value_is_not_replaced_by_what_was_written_while_it_was_there() -> None:
    without, meanwhile = bare(write(0, 0, 0, 2)), write(1, 1, 2, 3)

    assert of_first_register(without, meanwhile, bare(read(2, ("v0", 0), 4, 5))) == []
    assert of_first_register(without, meanwhile, write(2, 2, 4, 5), bare(read(3, ("v0", 0), 6, 7))) == [
        ("stale-read", WENT_BACK, 3, [0, 2])
    ]


def test_two_writes_at_once_contradict_each_other_if_both_are_read_later() -> None:
    one, other = write(0, 1, 0, 2), write(1, 1, 0, 2)
    of_one, of_other = read(2, ("v0", 1), 3, 4), read(3, ("v1", 1), 3, 4)

    for fenced in (True, False):
        assert of_first_register(one, other, of_one, strict=False, fenced=fenced) == []
        assert accused(one, other, of_one, of_other, strict=False, fenced=fenced) == [("non-linearizable", 2)]


def test_a_value_may_be_read_until_the_next_one_was_surely_there() -> None:
    first, second = write(0, 1, 0, 1), write(1, 1, 2, 3)

    for fenced in (True, False):
        assert of_first_register(first, second, read(2, ("v0", 1), 3, 4), strict=False, fenced=fenced) == []
        assert accused(first, second, read(2, ("v0", 1), 4, 5), strict=False, fenced=fenced) == [
            ("non-linearizable", 2)
        ]


def test_the_later_of_two_reads_closes_a_flip_flop() -> None:
    first, second = write(0, 1, 0, 1), write(1, 1, 2, 3)
    back, again = read(2, ("v0", 1), 5, 6), read(3, ("v1", 1), 7, 8)

    for fenced in (True, False):
        assert of_first_register(first, second, back, again, strict=False, fenced=fenced) == [
            ("non-linearizable", WENT_BACK, 3, [0, 1, 2])
        ]


def test_flip_flops_are_in_the_order_of_their_first_writes() -> None:
    of_two = [write(0, 2, 0, 12), write(3, 2, 0, 12), read(6, ("v0", 2), 13, 14), read(7, ("v3", 2), 14, 15)]
    of_one = [write(1, 1, 1, 2), write(2, 1, 1, 2), read(4, ("v1", 1), 3, 4), read(5, ("v2", 1), 4, 5)]

    assert accused(*of_two, *of_one, strict=False) == [("non-linearizable", 7), ("non-linearizable", 5)]


def test_a_value_that_came_back_is_older_than_one_that_replaced_it() -> None:
    first, equal, newer = write(0, 1, 0, 1), write(1, 1, 2, 3), write(2, 2, 4, 5)

    assert accused(first, equal, newer, read(3, ("v0", 1), 6, 7), strict=False, fenced=False) == [
        ("non-linearizable", 3),
        ("stale-read", 3),
    ]


def test_where_nothing_else_is_wrong_a_value_without_a_token_comes_back() -> None:
    operations = bare(write(0, 0, 0, 1)), write(1, 1, 2, 3), bare(read(2, ("v0", 0), 4, 5))

    (found,) = observed(gather(history_of(operations)))

    assert (found.anomaly, found.accused.index) == ("stale-read", 2)
