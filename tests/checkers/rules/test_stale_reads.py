"""Stale reads, and reads that went back: literal histories, by what clients saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import gather
from checkers.history.records import Op
from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED, WENT_BACK, any_flip_flop, flip_flops
from checkers.rules.stale_writes.story import SENT_AFTER_NEWER
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.in_columns import Summary, seen


def test_every_read_of_a_replaced_stale_write_is_a_stale_read() -> None:
    found = seen(
        write(0, 5, 0, 1),
        write(1, 2, 2, 3),  # stale
        write(2, 6, 4, 5),
        read(3, ("v1", 2), 6, 7),
        read(4, ("v1", 2), 8, 9),
        read(5, ("v2", 6), 10, 11),
    )

    assert found == [
        ("stale-write", SENT_AFTER_NEWER, 1, [0]),
        ("stale-read", WENT_BACK, 3, [1, 2]),
        ("stale-read", WENT_BACK, 4, [1, 2]),
    ]


def test_a_read_of_a_stale_write_is_right_where_a_later_read_went_back() -> None:
    newer, stale = write(0, 3, 2, 4), write(1, 2, 5, 6)
    its_read, went_back = read(2, ("v1", 2), 7, 8), read(2, ("v0", 3), 9, 10)
    stale_write = ("stale-write", SENT_AFTER_NEWER, 1, [0])

    assert seen(newer, stale, its_read) == [stale_write]
    assert seen(newer, stale, its_read, went_back) == [
        stale_write,
        ("non-linearizable", WENT_BACK, 3, [0, 1]),
    ]
    assert seen(newer, stale, its_read, read(3, ("v1", 2), 7, 8), went_back) == [
        stale_write,
        ("non-linearizable", WENT_BACK, 4, [0, 1]),
    ]


def test_a_read_that_does_not_show_an_acknowledged_stale_write_is_wrong() -> None:
    newer, stale = write(0, 3, 2, 4), write(1, 2, 5, 6)
    during, missed, again = (read(n, ("v0", 3), 2 * n + 2, 2 * n + 3) for n in (2, 3, 4))
    stale_write = ("stale-write", SENT_AFTER_NEWER, 1, [0])

    assert seen(newer, stale, during) == [stale_write]
    assert seen(newer, stale, during, missed) == [
        stale_write,
        ("non-linearizable", WENT_BACK, 3, [0, 1]),
    ]
    assert {name for name, *_ in seen(newer, stale, during, missed, again)} == {"stale-write", "lost-write"}


def test_a_read_that_shows_when_a_value_was_there_belongs_to_the_proof() -> None:
    slow, early, newer = write(0, 2, 1, 10), read(1, ("v0", 2), 2, 4), write(2, 3, 6, 7)

    assert seen(slow, early, newer, read(1, ("v0", 2), 8, 9), policy="inclusive") == [
        ("stale-read", OLDER_THAN_ACCEPTED, 3, [2, 1])
    ]


def test_going_back_to_a_token_that_is_not_lower_is_no_stale_read() -> None:
    def found(token: int) -> list[Summary]:
        return seen(
            write(0, 5, 0, 1),
            write(1, 2, 2, 3),
            write(2, token, 4, 5),
            read(3, ("v1", 2), 6, 7),
            policy="inclusive",
        )

    assert found(1)[2] == ("non-linearizable", WENT_BACK, 3, [1, 2])
    assert found(2)[2] == ("non-linearizable", WENT_BACK, 3, [1, 2])


def test_a_value_replaced_as_the_newer_one_was_sent_has_a_longer_proof() -> None:
    older, its_read = write(0, 1, 0, 2), read(3, ("v0", 1), 5, 5)
    touching, later = write(1, 2, 2, 4), write(1, 2, 3, 4)
    newer_read = read(2, ("v1", 2), 5, 7)

    assert seen(older, touching, newer_read, its_read) == [("stale-read", OLDER_THAN_ACCEPTED, 3, [1, 2, 0])]
    assert seen(older, later, newer_read, its_read) == [("stale-read", OLDER_THAN_ACCEPTED, 3, [1])]


def test_a_read_in_between_shows_that_an_overlapping_write_was_not_last() -> None:
    overlapping, newer, initial = write(0, 2, 2, 5), write(1, 3, 3, 4), read(2, (None, 0), 9, 12)

    assert seen(overlapping, newer, initial, read(3, ("v0", 2), 12, 14)) == [
        ("stale-read", OLDER_THAN_ACCEPTED, 2, [1]),
        ("stale-read", OLDER_THAN_ACCEPTED, 3, [1, 2, 0]),
    ]


def test_a_read_of_the_initial_value_hides_no_replaced_stale_write() -> None:
    newer, stale, last = write(0, 5, 0, 1), write(1, 2, 2, 3), write(2, 6, 4, 5)

    assert seen(newer, stale, last, read(3, (None, 0), 6, 7), read(4, ("v1", 2), 6, 7)) == [
        ("stale-write", SENT_AFTER_NEWER, 1, [0]),
        ("stale-read", OLDER_THAN_ACCEPTED, 3, [2]),
        ("stale-read", WENT_BACK, 4, [1, 2]),
    ]


def test_a_read_of_a_replaced_write_without_a_token_is_a_stale_read() -> None:
    bare = replace(write(0, 0, 0, 1), token=None)

    assert seen(bare, write(1, 2, 2, 3), replace(read(2, ("v0", 0), 4, 5), token=None)) == [
        ("stale-read", WENT_BACK, 2, [0, 1])
    ]


@pytest.mark.parametrize("stale_first", [True, False])
def test_of_two_values_read_at_once_the_one_let_in_wrongly_went_back(stale_first: bool) -> None:
    newer, stale, last = write(0, 5, 0, 1), write(1, 2, 2, 3), write(2, 6, 2, 4)
    of_stale, of_last = read(3, ("v1", 2), 5, 6), read(4, ("v2", 6), 5, 7)
    reads = (of_stale, of_last) if stale_first else (of_last, of_stale)
    accused, other = (3, 4) if stale_first else (4, 3)

    assert seen(newer, stale, last, *reads) == [
        ("stale-write", SENT_AFTER_NEWER, 1, [0]),
        ("stale-read", WENT_BACK, accused, [1, other, 2]),
    ]


def test_going_back_over_a_newer_and_an_equal_token_has_two_names() -> None:
    operations = write(0, 3, 1, 6), write(1, 0, 10, 11), read(2, (None, 0), 12, 15)
    bare = replace(write(3, 0, 12, 13), token=None)

    assert seen(*operations, bare, policy="inclusive", fenced=False) == [
        ("stale-write", SENT_AFTER_NEWER, 1, [0]),
        ("stale-read", WENT_BACK, 2, [0]),
        ("non-linearizable", WENT_BACK, 2, [1]),
    ]


def zones(operations: Sequence[Op]) -> ZoneColumns:
    return zones_of(gather(history_of(renumbered(operations), fenced=False)))


@pytest.mark.parametrize(
    ("operations", "is_wrong"),
    [
        ([write(0, 1, 0, 1)], False),
        ([write(0, 1, 0, 1), write(1, 1, 2, 3), read(2, ("v0", 1), 3, 4)], False),
        ([write(0, 1, 0, 1), write(1, 1, 2, 3), read(2, ("v0", 1), 4, 5)], True),
        ([write(0, 1, 0, 3), read(1, ("v0", 1), 4, 5), write(2, 1, 1, 9), read(3, ("v2", 1), 3, 3)], False),
        ([write(0, 1, 0, 3), read(1, ("v0", 1), 4, 5), write(2, 1, 1, 3), read(3, ("v2", 1), 4, 5)], True),
    ],
)
def test_values_that_only_touch_are_no_flip_flop(operations: Sequence[Op], is_wrong: bool) -> None:
    assert any_flip_flop(zones(operations)) == is_wrong


def test_a_read_that_closes_several_flip_flops_is_accused_once() -> None:
    writes = write(0, 1, 0, 1), write(1, 1, 2, 3), write(2, 1, 4, 5)
    found = zones([*writes, read(3, ("v0", 1), 8, 9), read(4, ("v1", 1), 8, 9)])

    conflicts = list(flip_flops(found, np.arange(len(found.level)), found.resource))

    assert [(each.accused.index, each.because[0].index) for each in conflicts] == [(3, 1)]
