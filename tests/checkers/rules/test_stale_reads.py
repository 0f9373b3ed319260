"""Stale reads, and values of one register or one token that contradict each other: boundary by boundary."""

from __future__ import annotations

from dataclasses import replace

from checkers.facts.evidence import gather
from checkers.history.records import Op
from checkers.rules.registers import observed
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
