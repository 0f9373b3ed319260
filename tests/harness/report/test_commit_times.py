"""Accepted writes, placed in time."""

from __future__ import annotations

from checkers.history.reader import Commit, History
from harness.report.commit_times import accepted
from tests.support.report_folder import HEADER, STALE, operation, recorded


def test_accepted_writes_are_placed_in_order_and_within_their_calls() -> None:
    run = recorded(STALE)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="new"),
        Commit(seq=2, resource="r0", token=1, value="old"),
    )

    first, second = accepted(run, commits)

    assert (first.value, first.at) == ("new", 1145)
    assert (second.value, second.at) == ("old", 1175)


def test_a_write_that_was_held_up_is_placed_after_the_one_that_overtook_it() -> None:
    operations = (
        operation(0, called=0, returned=100, token=1, value="held up"),
        operation(1, called=60, returned=80, token=2, value="overtook"),
    )
    run = History(header=recorded(HEADER + "\n").header, operations=operations)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="overtook"),
        Commit(seq=2, resource="r0", token=1, value="held up"),
    )

    overtook, held_up = accepted(run, commits)

    assert (overtook.earliest, overtook.latest) == (60, 80)
    assert (held_up.earliest, held_up.latest) == (60, 100)
    assert overtook.at <= held_up.at


def test_without_a_log_writes_are_placed_where_clients_saw_them() -> None:
    assert [(write.value, write.at) for write in accepted(recorded(STALE), None)] == [
        ("new", 1150),
        ("old", 1180),
    ]
