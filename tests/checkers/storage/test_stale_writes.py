"""What clients saw of a storage, conflict by conflict: literal histories, line by line and in columns."""

from __future__ import annotations

from dataclasses import replace

from checkers.evidence import gather
from checkers.history.records import Commit
from checkers.storage.stale_reads import WENT_BACK
from checkers.storage.stale_writes import LOGGED_AFTER_NEWER, SEEN_AFTER_NEWER, SENT_AFTER_NEWER, in_log
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.conflicts import Summary, seen, summary_of


def test_who_reads_a_stale_write_after_it_was_replaced_went_back_each_time() -> None:
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
        ("stale-read", WENT_BACK, 3, [1, 5, 2]),
        ("stale-read", WENT_BACK, 4, [1, 5, 2]),
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


def test_without_a_fence_an_equal_token_is_no_stale_write() -> None:
    assert seen(write(0, 2, 0, 1), write(1, 2, 2, 3), fenced=False, policy="inclusive") == []


def test_without_a_fence_a_fence_operation_leaves_what_was_written_before() -> None:
    ahead = replace(fenced(write(1, 9, 2, 3)), process=1)

    assert seen(write(0, 1, 0, 1), ahead, read(2, ("v0", 1), 4, 5), fenced=False) == []


def test_without_a_fence_a_write_that_was_seen_after_a_newer_one_is_stale() -> None:
    found = seen(
        write(0, 1, 0, 1),
        write(1, 2, 2, 20),
        write(2, 3, 3, 4),
        read(3, ("v1", 2), 5, 6),
        fenced=False,
    )

    assert found == [("stale-write", SEEN_AFTER_NEWER, 1, [2, 3])]


def test_a_write_seen_as_the_newer_was_last_read_need_not_precede_it() -> None:
    found = seen(
        write(0, 2, 2, 20),
        write(1, 3, 3, 4),
        read(2, ("v0", 2), 5, 6),
        read(3, ("v1", 3), 6, 7),
        fenced=False,
    )

    assert found == [("stale-write", SEEN_AFTER_NEWER, 0, [1, 2])]


def test_of_newer_writes_one_that_had_returned_before_the_read_is_shown() -> None:
    found = seen(
        write(0, 2, 0, 30),
        write(1, 3, 1, 10),
        write(2, 3, 2, 5),
        read(3, ("v0", 2), 10, 12),
        fenced=False,
        policy="inclusive",
    )

    assert found == [("stale-write", SEEN_AFTER_NEWER, 0, [2, 3])]


def test_a_commit_without_a_token_hides_no_stale_write_that_follows() -> None:
    bare = replace(write(0, 0, 0, 1), token=None)
    history = history_of(renumbered([bare, write(1, 2, 2, 3), write(2, 1, 4, 5)]))
    log = [
        Commit(seq=seq, resource="r0", token=token, value=f"v{seq}") for seq, token in enumerate([None, 2, 1])
    ]

    found = [summary_of(each) for each in in_log(gather(history, log))]

    assert found == [("stale-write", LOGGED_AFTER_NEWER, 2, [1])]
