"""Stale reads, and reads that went back: literal histories, by what clients saw."""

from __future__ import annotations

from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED, WENT_BACK
from checkers.rules.stale_writes.story import SENT_AFTER_NEWER
from tests.support.brute_force import read, write
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
